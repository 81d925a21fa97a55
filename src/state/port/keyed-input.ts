import type { FrequentKey } from './frequent-key.ts'

/** Keys of the next `count` records: their places in `bytes`, and their murmur3 as int32. */
export interface KeysAhead {
  readonly bytes: Uint8Array
  readonly keyStarts: Int32Array
  readonly keyLengths: Int32Array
  readonly hashes: Int32Array
  /** Those that are frequent; their bytes are not in `bytes`. */
  readonly frequent: readonly (FrequentKey | undefined)[]
  readonly count: number
}

/** Keyed state as the runtime sees it when it passes records to an operator. */
export interface KeyedInput {
  readonly maxParallelism: number
  /** Selects the key of the next record. The bytes are not copied before use. */
  setCurrentKey(key: Uint8Array, keyGroup: number): void
  /** As `setCurrentKey`, of the key with this number among those of the last `readAhead`. */
  setKeyAhead(key: Uint8Array, keyGroup: number, ahead: number): void
  /** As `setCurrentKey`, of a key that comes again and again. */
  setFrequentKey(key: FrequentKey): void
  /** A hint that records with these keys come next: the state may load them into the processor's cache. */
  readAhead(keys: KeysAhead): void
}
