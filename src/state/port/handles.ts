import type { ByteSpan } from '../../core/byte-span.ts'
import type { ModelVersion } from '../../core/model-version.ts'

/*
 * Typed state handles. All but VectorState are scoped to the current key (and namespace) of the
 * backend; values returned belong to the caller.
 */

/** One value per key. */
export interface ValueState<T> {
  value(): T | undefined
  update(value: T): void
  clear(): void
}

/**
 * A value per key that its operator may change in place. For operators alone: a function of a user gets
 * copies.
 */
export interface LiveValueState<T> extends ValueState<T> {
  /**
   * The value itself, or undefined. The caller may change it in place, then calls `update` with it before
   * anything else reads the state. It belongs to the state: nothing may keep it.
   */
  valueToChange(): T | undefined
  /** Whether some key and namespace may have a value: a look at state that was never used is then not needed. */
  hasEntries(): boolean
}

/** A list per key. */
export interface ListState<T> {
  get(): T[]
  add(value: T): void
  addAll(values: readonly T[]): void
  update(values: readonly T[]): void
  clear(): void
}

/** A list per key that notices its first element and can be given up. For operators alone. */
export interface LiveListState<T> extends ListState<T> {
  /** As `add`; true when the list was empty before. */
  append(value: T): boolean
  /** As `get`, and removes the list: nothing needs a copy. */
  take(): T[]
  /** As `get`, of the last `count` elements. Those before them are removed once they are as many. */
  keepLast(count: number): T[]
  /** As `keepLast`, but folds them one by one, without an array of them; undefined without any. `add` makes no use of state. */
  foldLast<A>(count: number, add: (value: T, sum: A | undefined) => A): A | undefined
  /** As `get`, of the elements themselves: they belong to the state, so that nothing may change or keep them. */
  elements(): readonly T[]
  /** Says that `elements` will be called again and again for each list: where all are in memory, longer ones stay decoded. */
  expectLooks(): void
  /**
   * Removes the other elements: at once where all are decoded, else at the latest when they are as many as those that stay.
   * `known`: what `elements` gave, if the list has not changed since.
   */
  retain(isKept: (element: T) => boolean, known?: readonly T[]): void
  /** Whether some key and namespace may have a list: a look at state that was never used is then not needed. */
  hasEntries(): boolean
  /** Whether functions get the objects of the list themselves, as they promise to change none. */
  readonly shares: boolean
}

/** A map per key. */
export interface MapState<K, V> {
  get(key: K): V | undefined
  /** Without a value, as `remove`. */
  put(key: K, value: V): void
  /** As `put` of each entry, such as those of a `Map`. */
  putAll(entries: Iterable<readonly [K, V]>): void
  remove(key: K): void
  has(key: K): boolean
  /** An entry that changes or is removed meanwhile may show its old value. `keys` and `values` are alike. */
  entries(): IterableIterator<[K, V]>
  keys(): IterableIterator<K>
  values(): IterableIterator<V>
  isEmpty(): boolean
  clear(): void
}

/** Reducing and aggregating state: values in, one result out. */
export interface AppendingState<IN, OUT> {
  get(): OUT | undefined
  add(value: IN): void
  clear(): void
}

/** Metadata of a row. */
export interface RowMeta {
  /** Writes so far, counted from 1. */
  readonly updateCount: number
  /** Source partition of the last write, -1 if none. */
  readonly partition: number
  /** Source offset of the last write. */
  readonly offset: number
  /** Event time of the last write in ms, -1 if none. */
  readonly eventTime: number
}

/** A copy of one row. */
export interface VectorRow extends RowMeta {
  /** [dimension] */
  readonly vector: Float32Array
}

/** A row that `readInto` fills. */
export interface VectorRowTarget {
  /** [dimension] */
  readonly vector: Float32Array
  updateCount: number
}

/** Source record of a write. */
export interface WriteOrigin {
  /** Number of the source. @default 0 */
  readonly source?: number
  readonly partition: number
  readonly offset: number
  readonly eventTime: number
}

/**
 * Float32 rows by model version and key, in shared memory. Unlike the other handles it is addressed
 * by key bytes, because one record often touches several rows. The slot that owns the key's group is
 * the only writer; `put` and `add` on a foreign key throw NOT_OWNER.
 */
export interface VectorState {
  readonly dimension: number
  /**
   * Stores a row, [dimension]. The first row of a version that is not open opens it, with as many floats as it has where the
   * state's descriptor has `dimensionByVersion`. Throws DIMENSION_MISMATCH, NOT_FINITE, KEY_TOO_LONG.
   */
  put(version: ModelVersion, key: Uint8Array, vector: Float32Array, origin: WriteOrigin): void
  /** As `put`, of float32 x dimension as little-endian bytes. Throws as `put`. */
  putBytes(version: ModelVersion, key: Uint8Array, floats: ByteSpan, origin: WriteOrigin): void
  /** As `put`, of a row that begins again: its update count is 1. Throws as `put`. */
  replace(version: ModelVersion, key: Uint8Array, vector: Float32Array, origin: WriteOrigin): void
  /** Adds a delta, [dimension], to a row that starts as zero. Throws as `put`. */
  add(version: ModelVersion, key: Uint8Array, delta: Float32Array, origin: WriteOrigin): void
  /** A copy of the row, read from the store if it was spilled. */
  get(version: ModelVersion, key: Uint8Array): VectorRow | undefined
  /**
   * As `get`, into a row of the caller's; false when there is none. For code that reads a row for every
   * record.
   */
  readInto(version: ModelVersion, key: Uint8Array, target: VectorRowTarget): boolean
  /** Deletes a row; true when there was one. */
  remove(version: ModelVersion, key: Uint8Array): boolean
  /**
   * Copies of the keys of a version's rows on this slot, spilled ones included, in no order. Other rows may be written
   * meanwhile; a key whose row leaves memory may then come twice.
   */
  keys(version: ModelVersion): IterableIterator<Uint8Array>
  /** Rows of a version on this slot, spilled ones included. */
  size(version: ModelVersion): number
  /** Versions with at least one row on this slot, ascending. */
  versions(): ModelVersion[]
  /**
   * Opens a version on this slot before it has a row here, for example in `open` of a function. Queries of
   * keys of a slot that has not opened the version find no owner, and cannot wait for a bound. `dimension`: floats
   * of its rows, if the state's descriptor has `dimensionByVersion`. Throws DIMENSION_MISMATCH if it is open with
   * another one.
   */
  openVersion(version: ModelVersion, dimension?: number): void
  /** Floats of a version's rows; undefined if it is not open. */
  dimensionOf(version: ModelVersion): number | undefined
  /** Versions that are open on this slot, in no order. */
  openVersions(): ModelVersion[]
  /** Forgets a version and its memory; also the rows of it that a restore still brings. */
  dropVersion(version: ModelVersion): void
}
