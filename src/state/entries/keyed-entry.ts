import { LONG } from '../port/short-key.ts'
import type { EntryValue } from '../values/entry.ts'
import type { ChunkedList } from './chunked-list.ts'

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
/** Bits of the form of a key. */
const FORM_BITS = 4
const ANY_FORM = (1 << FORM_BITS) - 1

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

/**
 * One entry of typed keyed state in memory; its table owns and links it. What a look-up and an update use comes first,
 * so that it lies in few lines of the processor's cache.
 */
export class KeyedEntry {
  readonly hash: number
  /** The composite key, one character per byte: strings are compact and compare as bytes do. */
  readonly key: string
  /** The key group, the form of the key and the flags, which one slot holds: there are millions of entries. */
  private groupFormAndFlags: number
  private held: EntryValue = undefined
  /** What identifies a short key beside the hash; see `ShortKey`. */
  readonly keyRest: number
  /** About how many bytes of heap the value takes, as they were counted. */
  valueBytes = 0
  /** Next entry of the same hash bucket. */
  next: KeyedEntry | null = null
  /** Checkpoint interval of the last write that no snapshot has copied; 0 when there is none. */
  epoch = 0
  /** A field that begins with a number would have a heap object for it in each entry as soon as one has a time. */
  private moment: number | undefined = undefined
  /** Timestamp of the entry's timer that some segment holds. */
  writtenTimer: number | undefined = undefined
  /** Position among the dirty entries of its table. */
  dirtyIndex = -1
  /** Position among all entries of its table. */
  index = -1
  /** Which full snapshot has dealt with the entry. */
  mark = 0

  /** `form` and `rest`: those of the key's `ShortKey`; without them the key is compared as text. */
  constructor(hash: number, key: string, keyGroup: number, form: number = LONG, rest = 0) {
    this.hash = hash
    this.key = key
    this.keyRest = rest
    this.groupFormAndFlags = ((keyGroup << FORM_BITS) | form) << FLAG_BITS
  }

  get keyGroup(): number {
    return this.groupFormAndFlags >>> (FLAG_BITS + FORM_BITS)
  }

  /** The form of the key's `ShortKey`. */
  get keyForm(): number {
    return (this.groupFormAndFlags >>> FLAG_BITS) & ANY_FORM
  }

  get flags(): number {
    return this.groupFormAndFlags & ALL_FLAGS
  }

  set flags(flags: number) {
    this.groupFormAndFlags = (this.groupFormAndFlags & ~ALL_FLAGS) | flags
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
    if (typeof value === 'number') this.setNumber(value)
    else {
      this.held = value
      this.flags &= ~BOXED
    }
  }

  /** A box stays when its number becomes whole: a sum of halves would get a new one with every second update. */
  private setNumber(value: number): void {
    if ((this.flags & BOXED) !== 0) (this.held as NumberBox).number = value
    else if ((value | 0) === value) this.held = value
    else {
      this.held = new NumberBox(value)
      this.flags |= BOXED
    }
  }

  /** Loads from memory what a look-up and a read of the value need; the result means nothing. */
  touch(): number {
    // The text of a short key is not compared.
    const seen = this.keyForm === LONG ? this.key.charCodeAt(0) : this.epoch
    return (this.flags & BOXED) === 0 ? seen : seen ^ (this.held as NumberBox).number
  }
}

/** Removes an entry from all entries of its table; the last one takes its position. */
export function removeFromEntries(entries: ChunkedList<KeyedEntry>, { index }: KeyedEntry): void {
  const last = entries.pop()
  if (index >= entries.length) return
  entries.set(index, last)
  last.index = index
}

/** Bytes of heap that an entry takes besides key and value, measured on Node 24. */
export const ENTRY_OVERHEAD = 168
