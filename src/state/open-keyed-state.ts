import type { WeirError } from '../core/errors.ts'
import type { KeyedStateBackend } from './port/keyed-state-backend.ts'
import { openStateStore } from './store/open.ts'
import type { StateStoreType } from './store/state-store.ts'
import { SubtaskKeyedState, type SubtaskKeyedStateOptions } from './subtask-keyed-state.ts'

/** Options of the keyed state of one operator subtask. */
export interface KeyedStateOptions extends SubtaskKeyedStateOptions {
  readonly storeType: StateStoreType
  /** A folder of this subtask alone; emptied when the state opens. Not used by `heap`. */
  readonly storeDirectory: string
  /** Called when another store than `storeType` is opened, because that one cannot load. */
  readonly warn?: ((warning: WeirError) => void) | undefined
}

/** The engine's block cache and write buffers take this share of the budget each, on top of it. */
const ENGINE_SHARE = 16
const MIN_ENGINE_BYTES = 8 * 1024 * 1024
/** The same where jobs share a thread: there are many engines, each with little state. */
const MIN_SHARED_ENGINE_BYTES = 2 * 1024 * 1024
const MAX_ENGINE_BYTES = 64 * 1024 * 1024

/** Opens the keyed state of one operator subtask, empty. Throws STORE_FAILED. */
export async function openKeyedState(options: KeyedStateOptions): Promise<KeyedStateBackend> {
  if (options.storeType === 'heap') return new SubtaskKeyedState(options, undefined)
  const isShared = options.slotMemory?.evenShare !== undefined
  const engineBytes = Math.min(
    Math.max(
      options.memoryBudgetBytes / ENGINE_SHARE,
      isShared ? MIN_SHARED_ENGINE_BYTES : MIN_ENGINE_BYTES,
    ),
    MAX_ENGINE_BYTES,
  )
  const store = await openStateStore(options.storeType, options.storeDirectory, {
    blockCacheBytes: Math.floor(engineBytes),
    writeBufferBytes: Math.floor(engineBytes),
    warn: options.warn,
  })
  return new SubtaskKeyedState(options, store)
}
