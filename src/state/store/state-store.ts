/** One change of a store; a missing value deletes the key. */
export interface StoreChange {
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
}

/**
 * The port below all spilled state: an ordered map of bytes, synchronous, owned by one slot.
 * Keys order by unsigned byte comparison. A store is a cache of what memory does not hold, not the
 * durable form: it starts empty and may be deleted after a crash. Calls after `close` throw
 * ILLEGAL_STATE; failures throw STORE_FAILED.
 */
export interface StateStore {
  /** The value, which the caller owns, or undefined. */
  get(key: Uint8Array): Uint8Array | undefined
  /** The values in the order of the keys; cheaper than single gets where the engine batches. */
  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[]
  /** Applies all changes in order, visible together. */
  apply(changes: readonly StoreChange[]): void
  /** Entries with `from <= key < to` in key order, as they were when the iteration began. */
  scan(from: Uint8Array, to: Uint8Array): IterableIterator<readonly [Uint8Array, Uint8Array]>
  /** Releases the engine and deletes nothing; idempotent. */
  close(): void
}

/** The engines behind the port. */
export type StateStoreType = 'heap' | 'rocksdb' | 'leveldb'
