import { mkdtempSync, rmSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type * as Open from '../../../src/state/store/open.ts'

/** Opens a store of type `rocksdb`; returns the warnings, and what it stored and found again. */
async function openWithout(...engines: readonly string[]): Promise<string[]> {
  const missing = engines.map((engine) => `./${engine}.ts`)
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (missing.includes(specifier))
        throw new Error('No native build was found for platform=linux')
      return next(specifier, context)
    },
  })
  // Another address is another module: one that was loaded before would not be loaded again.
  const address = `../../../src/state/store/open.ts?without=${engines.join()}`
  const { openStateStore }: typeof Open = await import(address)
  const folder = mkdtempSync(join(tmpdir(), 'weir-store-'))
  const warnings: string[] = []
  try {
    const store = await openStateStore('rocksdb', folder, {
      warn: ({ message }) => warnings.push(message),
    })
    const key = new Uint8Array([1])
    store.apply([{ key, value: new Uint8Array([7]) }])
    expect([...store.get(key)!]).toEqual([7])
    await store.close()
  } finally {
    hooks.deregister()
    rmSync(folder, { recursive: true, force: true })
  }
  return warnings
}

describe('openStateStore without a native module', () => {
  it('opens LevelDB instead of RocksDB with one warning', async () => {
    expect(await openWithout('rocksdb')).toEqual([
      expect.stringMatching(/rocksdb does not load.*state\.backend\.type=leveldb/),
    ])
  })

  it('opens the heap when LevelDB does not load either', async () => {
    const warnings = await openWithout('rocksdb', 'leveldb')
    expect(warnings).toHaveLength(2)
    expect(warnings[1]).toMatch(/state is kept in heap; all state must then fit in memory/)
  })
})
