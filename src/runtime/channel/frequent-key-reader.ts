import { WeirError } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { keyGroupOfHash } from '../../core/key-group.ts'
import { FrequentKey } from '../../state/port/frequent-key.ts'
import { KEY_KINDS, MOST_KEYS } from './frequent-keys.ts'

/** Bytes before a key that is to be kept. */
const KEPT_HEADER = 3
/** Keys that are decoded before the first of them is used; each may take the place of one that is still used. */
const DECODED_TOGETHER = 16

/** Reads the keys of a channel whose sender remembers frequent ones, each once and in order. */
export class FrequentKeyReader {
  private readonly maxParallelism: number
  private readonly keys = new Array<FrequentKey | undefined>(MOST_KEYS).fill(undefined)
  /** Those that lost their places last, the oldest at `next`: their objects are used again, because keys come and go. */
  private readonly left = new Array<FrequentKey | undefined>(DECODED_TOGETHER).fill(undefined)
  private next = 0

  constructor(maxParallelism: number) {
    this.maxParallelism = maxParallelism
  }

  /**
   * The frequent key in `bytes`, valid for the next 16 keys at least; undefined for a plain one, which follows its first
   * byte. Throws MALFORMED_DATA.
   */
  read(bytes: Uint8Array, start: number, length: number): FrequentKey | undefined {
    const kind = bytes[start]
    if (kind === KEY_KINDS.plain) return undefined
    const place = bytes[start + 1]! | (bytes[start + 2]! << 8)
    if (kind === KEY_KINDS.kept) this.keep(place, bytes, start + KEPT_HEADER, start + length)
    const key = this.keys[place]
    if (key === undefined) throw malformed(place)
    return key
  }

  private keep(place: number, bytes: Uint8Array, start: number, end: number): void {
    if (place >= MOST_KEYS) throw malformed(place)
    const hash = murmur3(bytes, start, end - start) | 0
    const key = this.exchange(this.keys[place])
    key.set(bytes, start, end, hash, keyGroupOfHash(hash, this.maxParallelism))
    this.keys[place] = key
  }

  /** Takes a key that has lost its place, and gives one that lost it long ago. */
  private exchange(lost: FrequentKey | undefined): FrequentKey {
    if (lost === undefined) return new FrequentKey()
    const { left, next } = this
    const oldest = left[next]
    left[next] = lost
    this.next = (next + 1) % left.length
    return oldest ?? new FrequentKey()
  }
}

function malformed(place: number): WeirError {
  return new WeirError('MALFORMED_DATA', `there is no key at place ${place} of a channel`)
}
