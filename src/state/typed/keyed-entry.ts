/**
 * The value of an entry. Primitives that the serializer keeps exactly stay decoded. Everything else is
 * encoded bytes, a list that grows, or an object that only its handle touches.
 */
export type EntryValue =
  | undefined
  | number
  | string
  | boolean
  | Uint8Array
  | GrowingBytes
  | LiveObject

/** Encoded bytes that are only ever appended to, so that older lengths stay valid. */
export class GrowingBytes {
  bytes: Uint8Array
  length: number

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.length = bytes.length
  }

  /** Appends the first `count` of `source`. */
  append(source: Uint8Array, count: number): void {
    const needed = this.length + count
    if (needed > this.bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2, 32))
      grown.set(this.bytes.subarray(0, this.length))
      this.bytes = grown
    }
    this.bytes.set(count === source.length ? source : source.subarray(0, count), this.length)
    this.length = needed
  }
}

/** A decoded object that never leaves its handle: callers get and give copies. */
export class LiveObject {
  object: unknown
  /** About how many bytes of heap the object takes. */
  readonly bytes: number

  constructor(object: unknown, bytes: number) {
    this.object = object
    this.bytes = bytes
  }
}

/** In the field of an entry's value while the value is a number. */
const IN_NUMBER = Symbol('in the number')

/** The entry exists; without it the entry is a tombstone. */
export const LIVE = 1
/** Used since the eviction clock last passed. */
export const REFERENCED = 2
/** Some segment, written or being collected, holds the key. */
export const PERSISTED = 4
/** The store holds exactly this value. */
export const STORED = 8
/** The store may hold an older value. */
export const MAYBE_STORED = 16
/** The entry is in its timer queue's heap. */
export const IN_HEAP = 32

/** One entry of typed keyed state in memory; its table owns and links it. */
export class KeyedEntry {
  readonly hash: number
  /** The composite key, one character per byte: strings are compact and compare as bytes do. */
  readonly key: string
  readonly keyGroup: number
  private held: EntryValue | typeof IN_NUMBER = undefined
  /**
   * A value that is a number, changed in place: a field that only ever holds doubles stores them in
   * place. A number among other values would be a new heap object for every update.
   */
  private number = Number.NaN
  /** Next entry of the same hash bucket. */
  next: KeyedEntry | null = null
  /** When a TTL entry expires, or a timer's timestamp; ms. */
  time = 0
  /** Checkpoint interval of the last write that no snapshot has copied; 0 when there is none. */
  epoch = 0
  /** Position among the dirty entries of its table. */
  dirtyIndex = -1
  /** Position among all entries of its table. */
  index = -1
  /** Which full snapshot has dealt with the entry. */
  mark = 0
  flags = 0

  constructor(hash: number, key: string, keyGroup: number) {
    this.hash = hash
    this.key = key
    this.keyGroup = keyGroup
  }

  get value(): EntryValue {
    const { held } = this
    return held === IN_NUMBER ? this.number : held
  }

  set value(value: EntryValue) {
    if (typeof value === 'number') {
      this.number = value
      if (this.held !== IN_NUMBER) this.held = IN_NUMBER
    } else this.held = value
  }
}

/** Removes an entry from all entries of its table; the last one takes its position. */
export function removeFromEntries(entries: KeyedEntry[], { index }: KeyedEntry): void {
  const last = entries.pop()!
  if (index >= entries.length) return
  entries[index] = last
  last.index = index
}

/** Removes an entry from the dirty entries of its table; the last one takes its position. */
export function removeFromDirty(dirty: KeyedEntry[], { dirtyIndex }: KeyedEntry): void {
  const last = dirty.pop()!
  if (dirtyIndex >= dirty.length) return
  dirty[dirtyIndex] = last
  last.dirtyIndex = dirtyIndex
}

/** Bytes of heap that an entry takes besides key and value, measured on Node 24. */
export const ENTRY_OVERHEAD = 176

/** About how many bytes of heap a value takes. */
export function sizeOfValue(value: EntryValue): number {
  switch (typeof value) {
    case 'undefined':
    case 'boolean':
    case 'number':
      return 0
    case 'string':
      return 24 + value.length
    default:
      if (value instanceof Uint8Array) return 120 + value.length
      if (value instanceof GrowingBytes) return 160 + value.bytes.length
      return 40 + value.bytes
  }
}
