/*
 * Builds the package of the client, `@weirjs/client`: `node scripts/build-client-package.ts [FOLDER]`, by default into
 * `dist-client/`, from where `npm pack` takes it. It has the modules that `tsconfig.client.json` reaches, and msgpackr,
 * so that it depends on no package (docs/decisions/layout.md#a-package-for-clients).
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeBillOfMaterials } from './bill-of-materials.ts'
import { bundle, compile, copyTypes } from './build-package.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const NAME = '@weirjs/client'

/** Entries of the package, as modules of `src` without ending. */
const ENTRIES: Readonly<Record<string, string>> = {
  '.': 'client/index',
  './tracing': 'core/tracing/index',
}

/** Builds the package into a folder and replaces its content. Throws when the build fails. */
export async function buildClientPackage(folder: string): Promise<void> {
  const modules = mkdtempSync(join(tmpdir(), 'weir-client-'))
  const dist = join(folder, 'dist')
  try {
    compile('tsconfig.client.json', modules)
    rmSync(folder, { recursive: true, force: true })
    await bundle({ modules, ending: '.js', folder: dist, entries: Object.values(ENTRIES) })
    copyTypes(modules, dist)
  } finally {
    rmSync(modules, { recursive: true, force: true })
  }
  contain(dist)
  writeBillOfMaterials(join(dist, 'bom.cdx.json'), { name: NAME, contains: ['msgpackr'] })
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  cpSync(join(ROOT, 'scripts/client-package/README.md'), join(folder, 'README.md'))
  const main = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as MainPackage
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify(clientPackage(main), undefined, 2)}\n`,
  )
}

/** What the package has of the main one. */
export interface MainPackage {
  readonly version: string
  readonly license: string
  readonly type: string
  readonly engines: object
  readonly repository?: unknown
}

/** The package.json of the client's package. */
export function clientPackage({ version, license, type, engines, repository }: MainPackage) {
  const exports = Object.entries(ENTRIES).map(([entry, module]) => [
    entry,
    { types: `./dist/${module}.d.ts`, default: `./dist/${module}.js` },
  ])
  return {
    name: NAME,
    version,
    description: 'Client of Weir: predictions, queries of state, and inference. No dependencies.',
    license,
    repository,
    type,
    engines,
    exports: Object.fromEntries(exports) as Readonly<Record<string, object>>,
    // The built files name msgpackr so, from wherever they are.
    imports: { '#msgpackr': './dist/msgpackr.cjs' },
    files: ['dist'],
  }
}

/**
 * Puts msgpackr into the package, its variant in plain JavaScript: as a dependency it would bring a native addon.
 * Throws when no file loads it.
 */
function contain(dist: string): void {
  const main = createRequire(import.meta.url).resolve('msgpackr/index-no-eval')
  const code = readFileSync(main, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')
  const license = readFileSync(join(dirname(main), '../LICENSE'), 'utf8')
  writeFileSync(join(dist, 'msgpackr.cjs'), `/*\nmsgpackr\n\n${license}*/\n${code}`)
  const changed = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.js') && nameOwnMsgpackr(join(dist, file)),
  )
  if (changed.length === 0) throw new Error('no file of the client loads msgpackr')
}

/** Makes a built file load the msgpackr of the package; false where it loads none. */
function nameOwnMsgpackr(file: string): boolean {
  const text = readFileSync(file, 'utf8')
  const own = text.replaceAll(
    /(createRequire\(import\.meta\.url\)\(\s*)["']msgpackr["']/g,
    '$1"#msgpackr"',
  )
  writeFileSync(file, own)
  return own !== text
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildClientPackage(resolve(process.argv[2] ?? join(ROOT, 'dist-client')))
}
