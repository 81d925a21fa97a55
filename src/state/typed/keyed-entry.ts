import type { EntryValue } from '../values/entry.ts'

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
/** The entry has a timer at its time. */
export const TIMED = 64

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
  /** When a TTL entry expires, or the timestamp of a timer or of the entry's timer; ms. */
  time = 0
  /** Timestamp of the entry's timer that some segment holds. */
  writtenTimer: number | undefined = undefined
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
export const ENTRY_OVERHEAD = 184
