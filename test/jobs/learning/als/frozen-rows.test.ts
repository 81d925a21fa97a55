import { describe, expect, it } from 'vitest'
import type { ByteSpan } from '../../../../src/core/byte-span.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { FrozenRows } from '../../../../src/jobs/learning/als/frozen-rows.ts'
import { type LearnedRow, scoreOf } from '../../../../src/models/als/online/rule.ts'

const encoder = new TextEncoder()

function rowOf(values: readonly number[], updates = 1): LearnedRow {
  return { row: Float32Array.from(values), memory: new Float32Array(0), updates, evidence: 0 }
}

function key(id: string): Uint8Array {
  return encoder.encode(id)
}

/** A key that begins in the middle of other bytes. */
function span(id: string): ByteSpan {
  const bytes = encoder.encode(`xx${id}yy`)
  return { bytes, start: 2, length: bytes.length - 4 }
}

describe('copies of rows as they were published', () => {
  it('give the score of the published rows after both rows have changed', () => {
    const frozen = new FrozenRows()
    expect(frozen.score(key('u-U'), rowOf([1, 2]), span('i-I'), rowOf([3, 4]))).toBe(11)
    const user = rowOf([9, 9], 5)
    expect(frozen.score(key('u-U'), user, span('i-I'), rowOf([7, 7], 8))).toBe(11)
  })

  it('do not exist of a row that was learned before its first rating here', () => {
    const frozen = new FrozenRows()
    expect(frozen.score(key('u-U'), rowOf([1, 2]), span('i-I'), rowOf([3, 4], 2))).toBeUndefined()
    expect(frozen.score(key('u-U'), rowOf([5, 5], 2), span('j-I'), rowOf([3, 4]))).toBe(11)
  })

  it('keep keys apart that begin alike', () => {
    const frozen = new FrozenRows()
    expect(frozen.score(key('1-U'), rowOf([1]), span('1-I'), rowOf([2]))).toBe(2)
    expect(frozen.score(key('11-U'), rowOf([3]), span('11-I'), rowOf([5]))).toBe(15)
    expect(frozen.score(key('1-U'), rowOf([0]), span('11-I'), rowOf([0]))).toBe(5)
  })

  it('are those of a Map from key to row, and at most 20,000', () => {
    const random = seededRandom(7)
    const frozen = new FrozenRows()
    const copies = new Map<string, Float32Array>()
    const copyOf = (id: string, { row, updates }: LearnedRow): Float32Array | undefined => {
      const known = copies.get(id)
      if (known !== undefined || updates > 1 || copies.size >= 20_000) return known
      copies.set(id, row)
      return row
    }
    for (let n = 0; n < 60_000; n++) {
      const [user, item] = [`${random.below(40_000)}-U`, `${random.below(10_000)}-I`]
      const made = (): LearnedRow => rowOf([n, random.next(), 3], random.below(4) === 0 ? 2 : 1)
      const [userRow, itemRow] = [made(), made()]
      const [a, b] = [copyOf(user, userRow), copyOf(item, itemRow)]
      const expected = a === undefined || b === undefined ? undefined : scoreOf(a, b)
      if (frozen.score(key(user), userRow, span(item), itemRow) !== expected) expect.fail(`at ${n}`)
    }
    expect(copies.size).toBe(20_000)
  })
})
