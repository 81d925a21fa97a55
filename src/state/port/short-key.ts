import { PartReader, TERMINATOR } from './composite-key.ts'

/*
 * Which key an entry has, identified by numbers: by its hash and two more. The text of the key is elsewhere in memory, and
 * waiting for it took a quarter of the time of a look-up among 100,000 entries.
 *
 * This is exact. Every step of murmur3 can be undone, and so can those of `prefixHash` without a namespace. So the hash,
 * the length and all bytes but four, of one block, determine those four.
 */

/** The form of all keys that numbers do not identify. */
export const LONG = 0
/** Longest key of any bytes that numbers identify. */
const LONGEST = 8
/** Form of a key of nine bytes of which the first is F8, as keys that are numbers have it. */
const NUMBER = LONGEST + 2
const NUMBER_LENGTH = 9
const NUMBER_MARK = 0xf8
/** Longest composite key of a short one without a namespace: each byte may be escaped, and two parts end. */
const LONGEST_COMPOSITE = 2 * NUMBER_LENGTH + 4

const part = new PartReader()

/** What identifies a short key beside the hash of its entry. Two keys of one hash and form are equal if `rest` is. */
export class ShortKey {
  /** `LONG`, or above 0 what kind of key and how long: below 16. */
  form = LONG
  /** The bytes that do not follow from the hash, as int32. */
  rest = 0

  /** Takes the first `length` bytes of a key. */
  take(key: Uint8Array, length: number): void {
    if (length <= LONGEST) {
      this.form = length + 1
      this.rest = length <= 4 ? 0 : int32Of(key[0]!, key[1]!, key[2]!, key[3]!)
    } else if (length === NUMBER_LENGTH && key[0] === NUMBER_MARK) {
      this.form = NUMBER
      this.rest = int32Of(key[1]!, key[2]!, key[3]!, key[8]!)
    } else this.form = LONG
  }

  /** Takes the key of a composite key of `length` bytes, which has to be without a namespace and a map key. */
  takeComposite(composite: Uint8Array, length: number): void {
    this.form = LONG
    if (length > LONGEST_COMPOSITE) return
    const end = part.read(composite, 0)
    if (end + 2 !== length || composite[end] !== 0 || composite[end + 1] !== TERMINATOR) return
    this.take(part.bytes, part.length)
  }

  /** Holds no key that numbers identify. */
  clear(): void {
    this.form = LONG
  }
}

function int32Of(a: number, b: number, c: number, d: number): number {
  return a | (b << 8) | (c << 16) | (d << 24)
}
