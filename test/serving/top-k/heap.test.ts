import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { ExcludedKeys } from '../../../src/serving/top-k/excluded-keys.ts'
import { TopKHeap } from '../../../src/serving/top-k/heap.ts'

const K = 300
const bytes = (key: string): Uint8Array => new TextEncoder().encode(key)

const heapOf = (k: number): TopKHeap =>
  new TopKHeap(
    { vector: new Float32Array(1), k, suffix: new Uint8Array(0), exclude: new ExcludedKeys([]) },
    16,
  )

function ranked(rows: ReadonlyMap<string, number>, k: number): { key: string; score: number }[] {
  const heap = heapOf(k)
  for (const [key, score] of rows) heap.offer(score, bytes(key), 0, key.length)
  return heap.takeRanked().toList()
}

/** Keys with scores of which `kinds` are different. */
function rowsOf(count: number, kinds: number): Map<string, number> {
  const random = seededRandom(kinds)
  return new Map(
    Array.from({ length: count }, (_, i) => [`key-${i}`, Math.floor(random.next() * kinds) - 3]),
  )
}

describe('a heap of the best rows', () => {
  it.each([1, 2, 7, 1e9])('ranks them by score, then by key, with %d scores', (kinds) => {
    const rows = rowsOf(K, kinds)
    const expected = [...rows]
      .map(([key, score]) => ({ key, score }))
      .sort((a, b) => b.score - a.score || Buffer.compare(bytes(a.key), bytes(b.key)))
    expect(ranked(rows, K)).toEqual(expected)
    expect(ranked(rows, K + 20)).toEqual(expected)
  })

  it('keeps the best ones of many', () => {
    const rows = rowsOf(5000, 1e9)
    const expected = [...rows.values()].sort((a, b) => b - a).slice(0, K)
    expect(ranked(rows, K).map(({ score }) => score)).toEqual(expected)
  })

  it('leaves out a row whose score is not a number', () => {
    const rows = new Map([
      ['a', Number.NaN],
      ['b', -2],
      ['c', Number.POSITIVE_INFINITY],
    ])
    expect(ranked(rows, 3).map(({ key }) => key)).toEqual(['c', 'b'])
  })

  it('may be used again', () => {
    const heap = heapOf(2)
    for (const [key, score] of [
      ['a', 1],
      ['b', 3],
      ['c', 2],
    ] as const) {
      heap.offer(score, bytes(key), 0, 1)
    }
    expect(heap.takeRanked().toList()).toEqual([
      { key: 'b', score: 3 },
      { key: 'c', score: 2 },
    ])
    heap.reset(heap.query)
    heap.offer(5, bytes('c'), 0, 1)
    heap.offer(6, bytes('c'), 0, 1)
    expect(heap.takeRanked().toList()).toEqual([{ key: 'c', score: 6 }])
  })
})
