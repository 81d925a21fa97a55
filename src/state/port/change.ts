import type { WasmMemory } from '../../core/lifetime/wasm-memory.ts'

/** Name of one state inside an operator, `<name>` or `<name>@<model version>`. */
export type StateName = string

/**
 * Receives changed entries of a subtask's keyed state, for the next checkpoint: what was evicted
 * from memory while dirty, then what a snapshot copies out. Of two entries of one key the later
 * counts. Implementations copy what they keep; calls do not block.
 */
export interface ChangeSink {
  /**
   * One changed entry. `key` is the key within the state (namespace included), `value` undefined
   * for a deleted entry. Both are only valid during the call.
   */
  append(keyGroup: number, state: StateName, key: Uint8Array, value: Uint8Array | undefined): void
}

/**
 * One entry inside a block of a segment, so that a restore allocates nothing per entry. The object is
 * reused: it is valid only during the call that receives it.
 */
export interface EntrySpan {
  readonly bytes: Uint8Array
  /** Over the same bytes. */
  readonly view: DataView
  /** The memory that the bytes are in, from address `bytes.byteOffset`; undefined for any other memory. */
  readonly memory: WasmMemory | undefined
  readonly keyAt: number
  readonly keyLength: number
  readonly valueAt: number
  /** -1 for a deleted entry. */
  readonly valueLength: number
}

/** The key of an entry, as a view. */
export function keyOfSpan({ bytes, keyAt, keyLength }: EntrySpan): Uint8Array {
  return bytes.subarray(keyAt, keyAt + keyLength)
}

/** The value of an entry, as a view; undefined for a deleted one. */
export function valueOfSpan({ bytes, valueAt, valueLength }: EntrySpan): Uint8Array | undefined {
  return valueLength < 0 ? undefined : bytes.subarray(valueAt, valueAt + valueLength)
}

/**
 * A snapshot in progress. It was fixed when it was returned: later changes of the state do not show
 * in it. `step` copies more of it out within a time budget, so that processing goes on between.
 */
export interface StateSnapshot {
  /** Writes for about `budgetMs` into the sink; true when nothing is left. */
  step(budgetMs: number): boolean
  /** Entries written so far. */
  readonly entries: number
}

/** One state's declaration as it is stored in a checkpoint and compared at restore. */
export interface StateDeclaration {
  readonly name: StateName
  readonly kind: 'value' | 'list' | 'map' | 'reducing' | 'aggregating' | 'vector' | 'timers'
  /** Serializer ids, vector dimension and the like; equal or restore fails with STATE_CONFLICT. */
  readonly format: string
}
