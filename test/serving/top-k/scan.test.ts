import { expect, test } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { ExcludedKeys } from '../../../src/serving/top-k/excluded-keys.ts'
import { TopKHeap } from '../../../src/serving/top-k/heap.ts'
import { TopKScan } from '../../../src/serving/top-k/scan.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { bytesOf, hashOf, VectorFixture } from '../../state/vector/model.ts'

const NO_KEYS = new ExcludedKeys([])

const queryOf = (vector: Float32Array, k: number) => ({
  vector,
  k,
  suffix: new Uint8Array(0),
  exclude: NO_KEYS,
})

const filled = (count: number): { fixture: VectorFixture; rows: Map<string, number[]> } => {
  const random = seededRandom(3)
  const fixture = new VectorFixture({ rowShift: 5 })
  const rows = new Map<string, number[]>()
  for (let i = 0; i < count; i++) {
    const vector = Array.from({ length: 4 }, () => Math.fround(random.normal()))
    rows.set(`${i}`, vector)
    fixture.put(`${i}`, ...vector)
  }
  return { fixture, rows }
}

const best = (rows: Map<string, number[]>, query: Float32Array, k: number): string[] =>
  [...rows]
    .map(([key, v]) => ({ key, score: v.reduce((sum, x, i) => sum + x * query[i]!, 0) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, k)
    .map(({ key }) => key)

const QUERY = Float32Array.of(1, -1, 0.5, 2)

test('a block scan and a row by row scan find the same rows', () => {
  const { fixture, rows } = filled(500)
  const reader = fixture.reader()
  const blocks = new TopKHeap(queryOf(QUERY, 10), 32)
  new TopKScan(reader, [blocks]).run(() => false)
  while (reader.takeScratch() >= 0);
  const single = new TopKHeap(queryOf(QUERY, 10), 32)
  new TopKScan(reader, [single]).run(() => false)
  const expected = best(rows, QUERY, 10)
  expect(
    blocks
      .takeRanked()
      .toList()
      .map(({ key }) => key),
  ).toEqual(expected)
  expect(
    single
      .takeRanked()
      .toList()
      .map(({ key }) => key),
  ).toEqual(expected)
})

test('negative scores count, free rows do not', () => {
  const { fixture, rows } = filled(40)
  for (let i = 0; i < 40; i++) {
    const vector = rows.get(`${i}`)!.map((x) => -Math.abs(x) - 1)
    rows.set(`${i}`, vector)
    fixture.put(`${i}`, ...vector)
  }
  const query = Float32Array.of(1, 1, 1, 1)
  const heap = new TopKHeap(queryOf(query, 5), 32)
  new TopKScan(fixture.reader(), [heap]).run(() => false)
  expect(
    heap
      .takeRanked()
      .toList()
      .map(({ key }) => key),
  ).toEqual(best(rows, query, 5))
})

test('rows of a segment that is being written are read under their sequence words', () => {
  const { fixture, rows } = filled(100)
  const reader = fixture.reader()
  const key = bytesOf('0')
  const segment = reader.find(key, 0, key.length, hashOf(key)) >> 5
  const changes = reader.memoryWords
  const address = reader.blockOf(segment) - reader.layout.floatsAt
  changes[address]! += 1
  const heap = new TopKHeap(queryOf(QUERY, 100), 32)
  new TopKScan(reader, [heap]).run(() => false)
  expect(
    heap
      .takeRanked()
      .toList()
      .map((result) => result.key),
  ).toEqual(best(rows, QUERY, 100))
})

test('a scan can be cut into turns', () => {
  const { fixture, rows } = filled(300)
  const heap = new TopKHeap(queryOf(QUERY, 10), 32)
  const scan = new TopKScan(fixture.reader(), [heap])
  let turns = 1
  while (!scan.run(() => true)) turns++
  expect(turns).toBeGreaterThan(5)
  expect(
    heap
      .takeRanked()
      .toList()
      .map(({ key }) => key),
  ).toEqual(best(rows, QUERY, 10))
})

test('a heap keeps a key once, with its newest score', () => {
  const heap = new TopKHeap(queryOf(QUERY, 3), 8)
  const offer = (key: string, score: number): void => {
    const bytes = bytesOf(key)
    heap.offer(score, bytes, 0, bytes.length)
  }
  offer('a', 1)
  offer('b', 2)
  offer('a', 5)
  offer('c', 3)
  offer('d', 2.5)
  expect(heap.takeRanked().toList()).toEqual([
    { key: 'a', score: 5 },
    { key: 'c', score: 3 },
    { key: 'd', score: 2.5 },
  ])
})

test('a heap of hundreds of keys keeps each key once while keys leave and come back', () => {
  const k = campaignSize(300, 1_000)
  const heap = new TopKHeap(queryOf(QUERY, k), 8)
  const random = seededRandom(5)
  const last = new Map<string, number>()
  const offer = (key: string, score: number): void => {
    const bytes = bytesOf(key)
    heap.offer(score, bytes, 0, bytes.length)
  }
  // Scores of a key only rise, so that what left the heap comes back with its newest score.
  for (let n = 0; n < campaignSize(5_000, 20_000); n++) {
    const key = `k${Math.floor(random.next() * 3 * k)}`
    const score = n + Math.floor(random.next() * 100) + n / 2 ** 20
    if (score <= (last.get(key) ?? -1)) continue
    last.set(key, score)
    offer(key, score)
  }
  const expected = [...last].map(([key, score]) => ({ key, score }))
  expected.sort((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1))
  expect(heap.takeRanked().toList()).toEqual(expected.slice(0, k))
})
