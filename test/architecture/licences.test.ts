import { expect, it } from 'vitest'
import { textOf } from './source-tree.ts'

/** Licences of packages that Weir needs at run time: they ask for no more than their text. */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
])
/**
 * Further licences of packages that only development needs, which the package does not contain. LGPL: libvips, a
 * dynamic library of sharp, which users install themselves for images.
 */
const IN_DEVELOPMENT: ReadonlySet<string> = new Set([
  'LGPL-3.0-or-later',
  'Apache-2.0 AND LGPL-3.0-or-later',
  'Apache-2.0 AND LGPL-3.0-or-later AND MIT',
  'MPL-2.0',
  'Python-2.0',
  'MIT OR Apache-2.0',
  '(MIT OR CC0-1.0)',
])

interface LockedPackage {
  readonly license?: string
  readonly dev?: boolean
  readonly integrity?: string
  readonly resolved?: string
}

const { packages } = JSON.parse(textOf('package-lock.json')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>
}
const locked = Object.entries(packages).filter(([path]) => path !== '')

function mayHave({ license = '', dev = false }: LockedPackage): boolean {
  return ALLOWED.has(license) || (dev && IN_DEVELOPMENT.has(license))
}

it('each package of the lock file has a licence of the list', () => {
  expect(locked.length).toBeGreaterThan(100)
  const others = locked.filter(([, one]) => !mayHave(one))
  expect(others.map(([path, { license }]) => `${path}: ${license}`)).toEqual([])
})

it('each package of the lock file has a checksum', () => {
  const without = locked.filter(([, { integrity = '' }]) => !/^sha512-/.test(integrity))
  expect(without.map(([path]) => path)).toEqual([])
})

it.each([{ license: 'GPL-3.0' }, { license: 'MPL-2.0' }, {}, { license: 'UNLICENSED', dev: true }])(
  'refuses %j',
  (one) => {
    expect(mayHave(one)).toBe(false)
  },
)
