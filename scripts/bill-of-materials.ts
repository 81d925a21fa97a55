/*
 * Writes the software bill of materials of the package: `node scripts/bill-of-materials.ts FILE`. It is CycloneDX 1.6 in
 * JSON (https://cyclonedx.org/docs/1.6/json/), made of the lock file, without what only development needs. The build
 * puts it into the package as `dist/bom.cdx.json`. `npm sbom` leaves out a package that is needed at run time and in
 * development, so it is not used.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = 'node_modules/'

/** A package of the lock file. */
interface LockedPackage {
  readonly name?: string
  readonly version: string
  readonly license?: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly peer?: boolean
}

/** A part of the bill. */
export interface Component {
  readonly 'bom-ref': string
  readonly type: 'library'
  readonly name: string
  readonly version: string
  readonly scope: 'required' | 'optional'
  readonly licenses: readonly object[]
  readonly hashes: readonly object[]
  readonly purl: string
}

/** A bill of materials. */
export interface BillOfMaterials {
  readonly bomFormat: 'CycloneDX'
  readonly specVersion: '1.6'
  readonly version: 1
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
}

/** A package that contains some packages of the lock file, and needs no others. */
export interface ContainingPackage {
  readonly name: string
  readonly contains: readonly string[]
}

/** The bill of materials of the text of a lock file: of the package that it is for, or of one of `ContainingPackage`. */
export function billOfMaterials(lockFile: string, of?: ContainingPackage): BillOfMaterials {
  const { packages } = JSON.parse(lockFile) as {
    readonly packages: Readonly<Record<string, LockedPackage>>
  }
  const components = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, locked]) => componentOf(nameOf(path, locked), locked))
    .filter(({ name }) => of === undefined || of.contains.includes(name))
  const own = packages['']!
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: componentOf(of?.name ?? own.name ?? '', own) },
    // One package may be in several folders.
    components: [...new Map(components.map((one) => [one['bom-ref'], one])).values()],
  }
}

function nameOf(path: string, { name }: LockedPackage): string {
  return name ?? path.slice(path.lastIndexOf(FOLDER) + FOLDER.length)
}

function componentOf(name: string, locked: LockedPackage): Component {
  const { version, license, integrity, optional = false, peer = false } = locked
  // https://github.com/package-url/purl-spec: the scope of npm is the namespace, its @ escaped.
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const [algorithm, hash] = integrity?.split('-') ?? []
  return {
    'bom-ref': purl,
    type: 'library',
    name,
    version,
    scope: optional || peer ? 'optional' : 'required',
    licenses: license === undefined ? [] : [licenseOf(license)],
    hashes:
      algorithm === 'sha512' && hash !== undefined
        ? [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }]
        : [],
    purl,
  }
}

function licenseOf(text: string): object {
  return text.includes(' ') ? { expression: text } : { license: { id: text } }
}

/** Writes the bill of materials of this checkout, or of another package of it, into a file. */
export function writeBillOfMaterials(file: string, of?: ContainingPackage): void {
  const bill = billOfMaterials(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'), of)
  writeFileSync(file, `${JSON.stringify(bill, undefined, 2)}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeBillOfMaterials(process.argv[2] ?? 'bom.cdx.json')
}
