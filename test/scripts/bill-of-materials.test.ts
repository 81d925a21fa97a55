import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { billOfMaterials } from '../../scripts/bill-of-materials.ts'

const LOCK = readFileSync('package-lock.json', 'utf8')

interface Locked {
  readonly version: string
  readonly dev?: boolean
  readonly license?: string
}

it('the bill of materials lists what the package needs at run time, with versions and licences', () => {
  const bill = billOfMaterials(LOCK)
  expect(bill.metadata.component.name).toBe('@weirjs/weir')
  const { packages } = JSON.parse(LOCK) as { packages: Record<string, Locked> }
  const needed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true)
  expect(needed.length).toBeGreaterThan(50)
  for (const [path, { version, license }] of needed) {
    const name = path.replace(/^.*node_modules\//, '')
    const found = bill.components.find((one) => one.name === name && one.version === version)
    expect(JSON.stringify(found?.licenses), name).toContain(`"${license}"`)
  }
  const names = new Set(bill.components.map(({ name }) => name))
  for (const name of ['typescript', 'vitest', '@biomejs/biome']) expect(names.has(name)).toBe(false)
})

it('the bill of materials of a package that contains some packages lists these alone', () => {
  const bill = billOfMaterials(LOCK, { name: '@weirjs/client', contains: ['msgpackr'] })
  expect(bill.metadata.component).toMatchObject({ name: '@weirjs/client' })
  expect(bill.components.map(({ name }) => name)).toEqual(['msgpackr'])
})

it('a component has the form of CycloneDX 1.6', () => {
  const lock = {
    packages: {
      '': { name: '@a/own', version: '1.0.0', license: 'Apache-2.0' },
      'node_modules/@b/c': { version: '2.0.0', license: 'MIT', integrity: 'sha512-AAECAw==' },
      'node_modules/d/node_modules/@b/c': {
        version: '2.0.0',
        license: 'MIT',
        integrity: 'sha512-AAECAw==',
      },
      'node_modules/e': { version: '3.0.0', license: 'MIT OR ISC', optional: true },
      'node_modules/f': { version: '4.0.0', license: 'MIT', dev: true },
    },
  }
  expect(billOfMaterials(JSON.stringify(lock))).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    components: [
      {
        'bom-ref': 'pkg:npm/%40b/c@2.0.0',
        type: 'library',
        name: '@b/c',
        version: '2.0.0',
        scope: 'required',
        licenses: [{ license: { id: 'MIT' } }],
        hashes: [{ alg: 'SHA-512', content: '00010203' }],
        purl: 'pkg:npm/%40b/c@2.0.0',
      },
      { name: 'e', scope: 'optional', licenses: [{ expression: 'MIT OR ISC' }], hashes: [] },
    ],
  })
})
