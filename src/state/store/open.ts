import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { asWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { HeapStateStore } from './heap.ts'
import type { LevelDbStateStore } from './leveldb.ts'
import type { RocksDbStateStore } from './rocksdb.ts'
import type { StateStore, StateStoreType } from './state-store.ts'

/** Memory of an engine; a `heap` store has no limit. */
export interface StateStoreOptions {
  /** Bytes of blocks read from disk that LevelDB keeps decoded. @default 16 MiB */
  readonly blockCacheBytes?: number
  /** Bytes of changes collected before they are sorted into a file. @default 16 MiB */
  readonly writeBufferBytes?: number
  /** Called when another store is opened, because the native module of the configured one cannot load. */
  readonly warn?: ((warning: WeirError) => void) | undefined
}

const DEFAULT_BYTES = 16 * 1024 * 1024

/**
 * Opens an empty store. `directory` belongs to it alone: what it held is deleted first, and the
 * engine's own folder in it is deleted after `close`. If the native module of RocksDB cannot load on
 * this machine, LevelDB takes its place, and if that cannot load either, the heap: state is then
 * limited by memory, but the job runs. Throws STORE_FAILED.
 */
export async function openStateStore(
  type: StateStoreType,
  directory: string,
  options: StateStoreOptions = {},
): Promise<StateStore> {
  if (type === 'heap') return new HeapStateStore()
  const engine = await loadEngine(type, options.warn)
  if (engine.type === 'heap') return new HeapStateStore()
  const folder = freshFolder(directory)
  const memory = {
    blockCacheBytes: options.blockCacheBytes ?? DEFAULT_BYTES,
    writeBufferBytes: options.writeBufferBytes ?? DEFAULT_BYTES,
  }
  // A folder that is left over does no harm: the next opening deletes it.
  const remove = (): void => void rm(folder, { recursive: true, force: true }).catch(() => {})
  if (engine.type === 'rocksdb') {
    const { writeBufferBytes } = memory
    return engine.store.open(folder, { writeBufferBytes }, remove)
  }
  return engine.store.open(folder, memory, remove)
}

type Engine =
  | { readonly type: 'rocksdb'; readonly store: typeof RocksDbStateStore }
  | { readonly type: 'leveldb'; readonly store: typeof LevelDbStateStore }
  | { readonly type: 'heap' }

/** Loads an engine where it is opened, never in a main thread; another one if it cannot load. */
async function loadEngine(
  type: Exclude<StateStoreType, 'heap'>,
  warn: StateStoreOptions['warn'],
): Promise<Engine> {
  try {
    return type === 'rocksdb'
      ? { type, store: (await import('./rocksdb.ts')).RocksDbStateStore }
      : { type, store: (await import('./leveldb.ts')).LevelDbStateStore }
  } catch (cause) {
    const instead = type === 'rocksdb' ? 'leveldb' : 'heap'
    warn?.(cannotLoad(type, instead, cause))
    return instead === 'heap' ? { type: instead } : await loadEngine(instead, warn)
  }
}

function cannotLoad(type: StateStoreType, instead: StateStoreType, cause: unknown): WeirError {
  const [reason] = messageOf(cause).split('\n')
  const limit = instead === 'heap' ? '; all state must then fit in memory' : ''
  return new WeirError(
    'STORE_FAILED',
    `the native module of ${type} does not load on this machine (${reason}); state is kept in ${instead}${limit}. Set state.backend.type=${instead} to choose that without this warning`,
    { cause },
  )
}

/** Deletes the folder of an earlier engine; one that is still closing deletes its folder itself. */
function removeLeftover(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // Its files come and go while it closes.
  }
}

/** A folder that no engine has used before, because an earlier one may still be closing. */
function freshFolder(directory: string): string {
  try {
    mkdirSync(directory, { recursive: true })
    for (const name of readdirSync(directory)) removeLeftover(join(directory, name))
    return mkdtempSync(join(directory, 'store-'))
  } catch (cause) {
    const message = `the state store folder ${directory} cannot be emptied`
    throw asWeirError(cause, 'STORE_FAILED', message)
  }
}
