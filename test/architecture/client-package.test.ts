import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importedFiles, importsOf, textOf } from './source-tree.ts'

/** Rooms of `src` whose modules the package of the client holds. */
const ROOMS = [
  'client',
  'client/owners',
  'client/state',
  'core',
  'core/features',
  'core/formats',
  'core/hash',
  'core/lifetime',
  'core/numbers',
  'core/options',
  'core/shapes',
  'core/text',
  'core/tracing',
  'wire',
  'wire/inference',
  'wire/state',
]

/** Modules of Node.js that a client needs: none for files, HTTP or processes. */
const BUILTINS = [
  'node:async_hooks',
  'node:buffer',
  'node:diagnostics_channel',
  'node:module',
  'node:net',
  'node:tls',
  'node:worker_threads',
]

const { files: entries } = JSON.parse(textOf('tsconfig.client.json')) as {
  readonly files: readonly string[]
}

/** The files of the package, those of which it needs only types included. */
function reached(): readonly string[] {
  const files = new Set(entries)
  for (const file of files) for (const next of importedFiles(file)) files.add(next)
  return [...files]
}

const files = reached()

/** The names that a file imports and that are no files of `src`; `createRequire` loads msgpackr when it is needed. */
function foreignTo(file: string): readonly string[] {
  const required = textOf(file).matchAll(/createRequire\(import\.meta\.url\)\(\s*'([^']+)'/g)
  const names = [...importsOf(file), ...[...required].map(([, name]) => name!)]
  return names.filter((name) => !name.startsWith('.'))
}

describe('the package of the client', () => {
  it('holds the modules of these rooms and no others', () => {
    const rooms = new Set(files.map((file) => dirname(file).replace(/^src\//, '')))
    expect([...rooms].sort()).toEqual(ROOMS)
  })

  it('needs no package but msgpackr, which it contains, and these modules of Node.js', () => {
    const names = new Set(files.flatMap(foreignTo))
    const packages = [...names].filter((name) => !name.startsWith('node:'))
    expect(packages).toEqual(['msgpackr'])
    const builtins = [...names].filter((name) => name.startsWith('node:'))
    expect(builtins.sort()).toEqual(BUILTINS)
  })
})
