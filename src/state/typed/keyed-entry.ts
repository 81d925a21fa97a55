import type { EntryValue } from '../values/entry.ts'

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
/** The value is a number in a box of its own. */
const BOXED = 128
/** Bits of all of these. */
const FLAG_BITS = 8
const ALL_FLAGS = (1 << FLAG_BITS) - 1

/**
 * A number that the engine would make a new object for each time: it changes here in place. Small whole numbers are no
 * objects, and entries hold them themselves.
 */
class NumberBox {
  number: number

  constructor(number: number) {
    this.number = number
  }
}

/** One entry of typed keyed state in memory; its table owns and links it. */
export class KeyedEntry {
  readonly hash: number
  /** The composite key, one character per byte: strings are compact and compare as bytes do. */
  readonly key: string
  /** The key group and the flags, which one slot holds: there are millions of entries. */
  private groupAndFlags: number
  private held: EntryValue = undefined
  /** About how many bytes of heap the value takes, as they were counted. */
  valueBytes = 0
  /** Next entry of the same hash bucket. */
  next: KeyedEntry | null = null
  /** A field that begins with a number would have a heap object for it in each entry as soon as one has a time. */
  private moment: number | undefined = undefined
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

  constructor(hash: number, key: string, keyGroup: number) {
    this.hash = hash
    this.key = key
    this.groupAndFlags = keyGroup << FLAG_BITS
  }

  get keyGroup(): number {
    return this.groupAndFlags >>> FLAG_BITS
  }

  get flags(): number {
    return this.groupAndFlags & ALL_FLAGS
  }

  set flags(flags: number) {
    this.groupAndFlags = (this.groupAndFlags & ~ALL_FLAGS) | flags
  }

  /** When a TTL entry expires, or the timestamp of a timer or of the entry's timer; ms. */
  get time(): number {
    return this.moment ?? 0
  }

  set time(ms: number) {
    this.moment = ms
  }

  get value(): EntryValue {
    const { held } = this
    return (this.flags & BOXED) === 0 ? held : (held as NumberBox).number
  }

  set value(value: EntryValue) {
    if (typeof value !== 'number' || (value | 0) === value) {
      this.held = value
      this.flags &= ~BOXED
    } else if ((this.flags & BOXED) !== 0) (this.held as NumberBox).number = value
    else {
      this.held = new NumberBox(value)
      this.flags |= BOXED
    }
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
export const ENTRY_OVERHEAD = 160
