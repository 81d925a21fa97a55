import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { WeirError } from '../core/errors.ts'
import { HeapStateStore } from './heap-state-store.ts'
import type { StateStore, StateStoreType } from './state-store.ts'

/** Memory of an engine; a `heap` store has no limit. */
export interface StateStoreOptions {
  /** Bytes of blocks read from disk that LevelDB keeps decoded. @default 16 MiB */
  readonly blockCacheBytes?: number
  /** Bytes of changes collected before they are sorted into a file. @default 16 MiB */
  readonly writeBufferBytes?: number
}

const DEFAULT_BYTES = 16 * 1024 * 1024

/**
 * Opens an empty store. `directory` belongs to it alone: what it held is deleted first, and the
 * engine's own folder in it is deleted after `close`. Throws STORE_FAILED.
 */
export async function openStateStore(
  type: StateStoreType,
  directory: string,
  options: StateStoreOptions = {},
): Promise<StateStore> {
  if (type === 'heap') return new HeapStateStore()
  const folder = freshFolder(directory)
  const memory = {
    blockCacheBytes: options.blockCacheBytes ?? DEFAULT_BYTES,
    writeBufferBytes: options.writeBufferBytes ?? DEFAULT_BYTES,
  }
  // A folder that stays behind does no harm: the next opening deletes it.
  const remove = (): void => void rm(folder, { recursive: true, force: true }).catch(() => {})
  // An engine's native module is loaded where one is opened: never in a main thread, say.
  if (type === 'rocksdb') {
    const { RocksDbStateStore } = await import('./rocksdb-state-store.ts')
    return RocksDbStateStore.open(folder, { writeBufferBytes: memory.writeBufferBytes }, remove)
  }
  const { LevelDbStateStore } = await import('./leveldb-state-store.ts')
  return LevelDbStateStore.open(folder, memory, remove)
}

/** Deletes what an earlier engine left; one that is still closing deletes its folder itself. */
function removeLeftover(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // Its files come and go while it closes.
  }
}

/** A folder no engine has had before, so that one that is still closing cannot disturb. */
function freshFolder(directory: string): string {
  try {
    mkdirSync(directory, { recursive: true })
    for (const name of readdirSync(directory)) removeLeftover(join(directory, name))
    return mkdtempSync(join(directory, 'store-'))
  } catch (cause) {
    throw new WeirError(
      'STORE_FAILED',
      `the state store folder ${directory} cannot be emptied; check that it is writable`,
      { cause },
    )
  }
}
