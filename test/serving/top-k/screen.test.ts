import { expect, test } from 'vitest'

import { type Random, seededRandom } from '../../../src/core/random.ts'
import { ExcludedKeys } from '../../../src/serving/top-k/excluded-keys.ts'
import { TopKHeap } from '../../../src/serving/top-k/heap.ts'
import { TopKScan } from '../../../src/serving/top-k/scan.ts'
import { floatAtMost } from '../../../src/serving/top-k/shadow.ts'
import { TopKShadows } from '../../../src/serving/top-k/shadows.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import type { ScoredKey } from '../../../src/wire/model-reader.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { bytesOf, hashOf, VectorFixture } from '../../state/vector/model.ts'

const MEGABYTES = 2 ** 20

interface Wanted {
  readonly vector: Float32Array
  readonly k: number
  readonly suffix?: string
  readonly exclude?: readonly string[]
}

const heapOf = ({ vector, k, suffix = '', exclude = [] }: Wanted): TopKHeap =>
  new TopKHeap({ vector, k, suffix: bytesOf(suffix), exclude: new ExcludedKeys(exclude) }, 64)

/** A table of four floats a row, 64 rows a segment, with codes. */
class World {
  readonly fixture = new VectorFixture({ rowShift: 6 })
  readonly shadows: TopKShadows
  readonly clock = new ManualClock()

  constructor(limitBytes = 16 * MEGABYTES) {
    this.shadows = new TopKShadows(this.clock, limitBytes)
  }

  fill(count: number, value: () => number, suffix = ''): this {
    for (let i = 0; i < count; i++) {
      this.fixture.put(`${i}${suffix}`, value(), value(), value(), value())
    }
    return this
  }

  /** By codes; `between` is called after each segment. */
  screened(wanted: readonly Wanted[], between: () => void = () => {}): ScoredKey[][] {
    const heaps = wanted.map(heapOf)
    const scan = new TopKScan(this.fixture.reader(), heaps, { shadows: this.shadows })
    while (!scan.run(() => true)) between()
    return heaps.map((heap) => heap.takeRanked().toList())
  }

  /** From the floats of all rows, one query at a time. */
  scored(wanted: readonly Wanted[]): ScoredKey[][] {
    return wanted.map((one) => {
      const heap = heapOf(one)
      new TopKScan(this.fixture.reader(), [heap]).run(() => false)
      return heap.takeRanked().toList()
    })
  }

  /** Passes until there are codes for every segment. */
  warmUp(wanted: Wanted): this {
    for (let pass = 0; pass < 12; pass++) this.screened([wanted])
    return this
  }

  /** The score of a row with `QUERY` as it is now, in a list. */
  scoreOf(key: string): number[] | undefined {
    return this.fixture.get(key) && [innerProduct(this.fixture.get(key)!)]
  }

  get isCoded(): boolean {
    const reader = this.fixture.reader()
    const shadow = this.shadows.of(reader)!
    return Array.from({ length: reader.segments }, (_, n) => n).every(
      (n) => n === 0 || !reader.hasRows(n) || shadow.isCoded(n),
    )
  }
}

const QUERY = { vector: Float32Array.of(1, -1, 0.5, 2), k: 10 }

const innerProduct = (row: readonly number[]): number =>
  row.reduce((sum, x, i) => sum + x * QUERY.vector[i]!, 0)

const queriesOf = (count: number, k: number, random: Random): Wanted[] =>
  Array.from({ length: count }, () => ({
    vector: Float32Array.from({ length: 4 }, () => random.normal()),
    k,
  }))

/**
 * Equal scores, and equal keys but for those that share the last score: any of them may be there. With
 * several queries the floats that are scored without codes are added up in another order.
 */
const expectSame = (actual: ScoredKey[][], expected: ScoredKey[][], digits = 0): void => {
  expect(actual.length).toBe(expected.length)
  for (const [n, results] of expected.entries()) {
    const got = actual[n]!
    expect(got.length).toBe(results.length)
    for (const [i, { score }] of results.entries()) {
      if (digits === 0) expect(got[i]!.score).toBe(score)
      else expect(Math.abs(got[i]!.score - score)).toBeLessThan(10 ** -digits)
    }
    const last = results.at(-1)?.score
    const above = (all: ScoredKey[]): string[] =>
      all.filter(({ score }) => score !== last).map(({ key }) => key)
    if (digits === 0) expect(above(got)).toEqual(above(results))
  }
}

test('screened by codes, the same rows are found as by scoring all, one to sixteen queries', () => {
  const random = seededRandom(4)
  const world = new World().fill(3000, () => random.normal()).warmUp(QUERY)
  expect(world.isCoded).toBe(true)
  for (const count of [1, 2, 3, 4, 5, 7, 8, 12, 16]) {
    const wanted = queriesOf(count, 10, random)
    expectSame(world.screened(wanted), world.scored(wanted), count === 1 ? 0 : 5)
  }
})

test('suffix and exclusions hold', () => {
  const random = seededRandom(6)
  const world = new World()
    .fill(1500, () => random.normal(), '-I')
    .fill(1500, () => random.normal(), '-U')
  const [all] = world.warmUp(QUERY).scored([{ ...QUERY, suffix: '-I' }])
  const wanted = { ...QUERY, suffix: '-I', exclude: [all![0]!.key, all![3]!.key] }
  const [found] = world.screened([wanted])
  expectSame([found!], world.scored([wanted]))
  expect(found!.every(({ key }) => key.endsWith('-I') && !wanted.exclude.includes(key))).toBe(true)
})

const DATA: Record<string, (random: Random) => () => number> = {
  'equal scores': (random) => () => random.below(2),
  zeros: () => () => 0,
  'negative scores': (random) => () => -1 - random.below(3),
  denormals: (random) => () => random.normal() * 1e-42,
  'tiny and ordinary numbers': (random) => () => random.normal() * 10 ** -(3 * random.below(15)),
  'huge and ordinary numbers': (random) => () => random.normal() * 10 ** (2 * random.below(17)),
  'huge numbers': (random) => () => random.normal() * 1e30,
}

test.each(Object.keys(DATA))('%s are found as by scoring all', (name) => {
  const random = seededRandom(17)
  const world = new World().fill(1200, DATA[name]!(random)).warmUp(QUERY)
  for (let round = 0; round < campaignSize(3, 10); round++) {
    for (const k of [1, 10, 100]) {
      const wanted = queriesOf(1, k, random)
      expectSame(world.screened(wanted), world.scored(wanted))
    }
  }
})

test('updates, removals and new rows between two passes are seen', () => {
  const random = seededRandom(21)
  const vector = (): number[] => Array.from({ length: 4 }, () => random.normal())
  const world = new World().fill(2000, () => random.normal()).warmUp(QUERY)
  for (let round = 0; round < campaignSize(12, 60); round++) {
    for (let n = random.below(40); n > 0; n--) {
      const key = `${random.below(2200)}`
      if (random.below(4) === 0) world.fixture.remove(key)
      else world.fixture.put(key, ...vector())
    }
    const wanted = queriesOf(1, 10, random)
    expectSame(world.screened(wanted), world.scored(wanted))
  }
})

test('rows that change during a pass are found with one of their values', () => {
  const random = seededRandom(31)
  const world = new World().fill(2000, () => random.normal()).warmUp(QUERY)
  for (let round = 0; round < campaignSize(5, 20); round++) {
    const values = new Map<string, number[]>()
    const [before] = world.scored([QUERY])
    const [found] = world.screened([QUERY], () => {
      const key = `${random.below(2000)}`
      const scores = values.get(key) ?? [...(world.scoreOf(key) ?? [])]
      world.fixture.put(key, ...Array.from({ length: 4 }, () => random.normal()))
      values.set(key, [...scores, ...(world.scoreOf(key) ?? [])])
    })
    expect(found!.length).toBe(QUERY.k)
    for (const { key, score } of found!) {
      const possible = values.get(key) ?? world.scoreOf(key)!
      expect(possible.some((one) => Math.abs(one - score) < 1e-5)).toBe(true)
    }
    // A row without writes is left out only for better rows.
    const least = found!.at(-1)!.score
    for (const { key, score } of before!) {
      if (values.has(key) || score <= least) continue
      expect(found!.map((one) => one.key)).toContain(key)
    }
  }
})

test('a row in the middle of a write is scored by the next pass', () => {
  const random = seededRandom(41)
  const world = new World().fill(300, () => random.normal()).warmUp(QUERY)
  const reader = world.fixture.reader()
  const key = bytesOf('100')
  const row = reader.find(key, 0, key.length, hashOf(key))
  const { memoryWords: words, layout } = reader
  const header = reader.headerOf(row)
  const segment = reader.blockOf(row >> layout.rowShift) - layout.floatsAt
  // As `RowTable.beginWrite` and `endWrite`, with a pass between.
  words[segment]! += 1
  words[header]! += 1
  const best = [9, -9, 9, 9]
  for (let i = 0; i < 4; i++) reader.block[reader.floatsOf(row) + i] = best[i]!
  world.shadows.of(reader)!.refresh(row >> layout.rowShift)
  words[header]! += 1
  words[segment + 16 + (row & (layout.rowsPerSegment - 1))]! += 1
  words[segment]! += 1
  expect(world.screened([QUERY])[0]![0]!.key).toBe('100')
  expectSame(world.screened([QUERY]), world.scored([QUERY]))
})

test('without room for codes all rows are scored', () => {
  const random = seededRandom(51)
  const world = new World(1).fill(500, () => random.normal())
  expect(world.shadows.of(world.fixture.reader())).toBeUndefined()
  expectSame(world.screened([QUERY]), world.scored([QUERY]))
})

test('codes are used for some segments where there is no room for all', () => {
  const random = seededRandom(52)
  const world = new World(MEGABYTES).fill(35_000, () => random.normal()).warmUp(QUERY)
  expect(world.shadows.bytes).toBeLessThanOrEqual(MEGABYTES)
  expect(world.shadows.of(world.fixture.reader())!.isCoded(1)).toBe(true)
  expect(world.isCoded).toBe(false)
  expectSame(world.screened([QUERY]), world.scored([QUERY]))
})

test('codes of the table used longest ago are dropped for others, and after a minute', () => {
  const random = seededRandom(53)
  const [a, b] = [new World().fill(300, () => random.normal()), new World()]
  b.fill(300, () => random.normal())
  const shadows = new TopKShadows(a.clock, 120_000)
  const first = shadows.of(a.fixture.reader())!
  expect(shadows.hasRoom(first)).toBe(true)
  first.encode(0)
  a.clock.advance(10)
  shadows.of(b.fixture.reader())
  expect(shadows.bytes).toBeLessThanOrEqual(120_000)
  expect(shadows.of(a.fixture.reader()) === first).toBe(false)
  a.clock.advance(60_001)
  shadows.of(b.fixture.reader())
  expect(shadows.bytes).toBeLessThan(70_000)
})

test('a threshold is rounded down to float32', () => {
  const random = seededRandom(61)
  for (let n = 0; n < 1000; n++) {
    const value = random.normal() * 10 ** (random.below(70) - 40)
    const below = floatAtMost(value)
    expect(below).toBeLessThanOrEqual(value)
    expect(Math.fround(below)).toBe(below)
    expect(Math.abs(value - below)).toBeLessThanOrEqual(Math.abs(value) * 2 ** -22 + 2 ** -148)
  }
  for (const exact of [-1, -2, 4, 0, Number.NEGATIVE_INFINITY])
    expect(floatAtMost(exact)).toBe(exact)
})
