import { largeBuffers } from '../../core/lifetime/large-buffers.ts'
import type { ScoredKey } from '../../wire/model-reader.ts'

const decoder = new TextDecoder()
const SCORE_BYTES = Float64Array.BYTES_PER_ELEMENT
const END_BYTES = Int32Array.BYTES_PER_ELEMENT

/**
 * Keys and their scores, best first, in three arrays. A result of a thousand keys as objects and text would
 * hold up a thread's other connections: its garbage collector copies all that waits to be sent.
 */
export class RankedKeys {
  /** [count] */
  readonly scores: Float64Array
  /** [count], the end of each key in `keys`; a key begins where the one before ends. */
  readonly ends: Int32Array
  readonly keys: Uint8Array
  /** Memory of the arrays, of those that the thread uses again. */
  private buffer: Uint8Array<ArrayBuffer> | undefined

  /** `keys` may be longer than its last end. */
  constructor(scores: Float64Array, ends: Int32Array, keys: Uint8Array) {
    this.scores = scores
    this.ends = ends
    this.keys = keys
  }

  /** With room for this number of keys, of `keyBytes` in all; what it holds is undefined. */
  static reserve(count: number, keyBytes: number): RankedKeys {
    const endsAt = count * SCORE_BYTES
    const keysAt = endsAt + count * END_BYTES
    const bytes = largeBuffers.take(keysAt + keyBytes)
    const { buffer } = bytes
    const ranked = new RankedKeys(
      new Float64Array(buffer, 0, count),
      new Int32Array(buffer, endsAt, count),
      new Uint8Array(buffer, keysAt, keyBytes),
    )
    ranked.buffer = bytes
    return ranked
  }

  /** Gives the memory of `reserve` back: no one may read the keys any more. Idempotent. */
  release(): void {
    if (this.buffer !== undefined) largeBuffers.give(this.buffer)
    this.buffer = undefined
  }

  get count(): number {
    return this.scores.length
  }

  /** Objects, for callers in this process. */
  toList(): ScoredKey[] {
    return Array.from(this.scores, (score, i) => {
      const from = i === 0 ? 0 : this.ends[i - 1]!
      return { key: decoder.decode(this.keys.subarray(from, this.ends[i]!)), score }
    })
  }

  /** From objects. */
  static of(list: readonly ScoredKey[]): RankedKeys {
    const keys = list.map(({ key }) => Buffer.from(key))
    const ends = new Int32Array(list.length)
    let end = 0
    keys.forEach((key, i) => {
      end += key.length
      ends[i] = end
    })
    return new RankedKeys(
      Float64Array.from(list, ({ score }) => score),
      ends,
      Buffer.concat(keys),
    )
  }

  /** The best `k` of several lists, which are used up; of rows with equal scores those of the first list come first. */
  static best(lists: readonly RankedKeys[], k: number): RankedKeys {
    if (lists.length === 1 && lists[0]!.count <= k) return lists[0]!
    const most = lists.reduce((sum, { count }) => sum + count, 0)
    const count = Math.min(k, most)
    const ranked = RankedKeys.reserve(
      count,
      lists.reduce((sum, list) => sum + list.keys.length, 0),
    )
    const { scores, ends, keys } = ranked
    const next = new Int32Array(lists.length)
    let end = 0
    for (let i = 0; i < count; i++) {
      let best = -1
      for (let n = 0; n < lists.length; n++) {
        if (next[n]! >= lists[n]!.count) continue
        if (best < 0 || lists[n]!.scores[next[n]!]! > scores[i]!) {
          best = n
          scores[i] = lists[n]!.scores[next[n]!]!
        }
      }
      const { ends: from, keys: source } = lists[best]!
      const at = next[best]!++
      for (let byte = at === 0 ? 0 : from[at - 1]!; byte < from[at]!; byte++) {
        keys[end++] = source[byte]!
      }
      ends[i] = end
    }
    for (const list of lists) list.release()
    return ranked
  }
}
