import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { NO_TIMESTAMP } from '../../../src/core/time.ts'
import { LocalFold } from '../../../src/operators/folding/local-fold.ts'
import { type Fold, reduceFold } from '../../../src/operators/folds/fold.ts'
import type { FoldedPart } from '../../../src/operators/port/folded-part.ts'
import {
  type AlignedWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
} from '../../../src/operators/windows/assigner.ts'

/** Records of the first check, which are sent as they are but for the last one. */
const CHECKED = 8

interface Row {
  n: number
}

const sum = (a: Row, b: Row): Row => ({ n: a.n + b.n })

function open(windows: AlignedWindows, fold: Fold<Row, Row>, reusesObjects = false) {
  return new LocalFold<Row, Row>({
    windows,
    fold,
    keySerializer: plainKeySerializer(),
    records: msgpackSerializer<Row>(),
    sums: msgpackSerializer<Row>(),
    reusesObjects,
  })
}

const declared = (reduce: (a: Row, b: Row) => Row): Fold<Row, Row> =>
  reduceFold(reduce, { parts: 'any-order', declared: 'reduce' })

/** A fold of Weir's own, or a declared one that has passed its first check. */
function foldOf(windows: AlignedWindows, reduce?: typeof sum): LocalFold<Row, Row> {
  if (reduce === undefined) return open(windows, reduceFold(sum, { parts: 'any-order' }))
  const fold = open(windows, declared(reduce))
  for (let i = 1; i < CHECKED; i++) expect(fold.add('checked', { n: 1 }, 0)).toBe(false)
  expect(fold.add('checked', { n: 1 }, 0)).toBe(true)
  fold.drain(() => undefined)
  return fold
}

type Sent = [key: unknown, n: number, records: number, timestamp: number]

function drained(fold: LocalFold<Row, Row>): Sent[] {
  const sent: Sent[] = []
  fold.drain((key, part, timestamp) => {
    const { sum, records } = part as FoldedPart<Row>
    sent.push([key, sum.n, records, timestamp])
  })
  return sent
}

describe('a fold at the sender', () => {
  it('uses the objects of its parts again, but sends each part as one of its own', () => {
    const fold = foldOf(tumblingEventTimeWindows(10))
    const sent: FoldedPart<Row>[] = []
    for (const key of [1, 2, 1.5, 'a', [1, 'b']]) {
      for (let n = 1; n <= 3; n++) expect(fold.add(key, { n }, n)).toBe(true)
      expect(fold.size).toBe(1)
      fold.drain((_key, part) => sent.push(part as FoldedPart<Row>))
    }
    expect(sent.map(({ sum, records }) => [sum.n, records])).toEqual(Array(5).fill([6, 3]))
    expect(new Set(sent).size).toBe(5)
  })

  it('makes one part of the records of a key and a slice', () => {
    const fold = foldOf(slidingEventTimeWindows(40, 10))
    for (const time of [3, 12, 5, 14, 9]) expect(fold.add('a', { n: time }, time)).toBe(true)
    expect(fold.add('b', { n: 1 }, 4)).toBe(true)
    expect(fold.size).toBe(3)
    expect(drained(fold)).toEqual([
      ['a', 17, 3, 0],
      ['a', 26, 2, 10],
      ['b', 1, 1, 0],
    ])
    expect(fold.size).toBe(0)
    expect(drained(fold)).toEqual([])
  })

  it('keeps keys apart whose bytes differ', () => {
    const fold = foldOf(tumblingEventTimeWindows(10))
    for (const key of [0, -0, '0', 1, [1, 2], [1, 2], '', true]) fold.add(key, { n: 1 }, 0)
    expect(drained(fold).map(([key, n]) => [key, n])).toEqual([
      [0, 1],
      [-0, 1],
      ['0', 1],
      [1, 1],
      [[1, 2], 2],
      ['', 1],
      [true, 1],
    ])
  })

  it('has one slice in processing time', () => {
    const fold = foldOf(tumblingProcessingTimeWindows(10))
    for (const time of [3, 25, NO_TIMESTAMP]) fold.add('a', { n: 1 }, time)
    expect(drained(fold)).toEqual([['a', 3, 3, 0]])
  })

  it('folds event times before 1970, whose slice may begin at the time that stands for none', () => {
    const fold = foldOf(tumblingEventTimeWindows(10, 9))
    fold.add('a', { n: 1 }, 5)
    fold.add('a', { n: 1 }, -7)
    expect(drained(fold)).toEqual([
      ['a', 1, 1, 0],
      ['a', 1, 1, -11],
    ])
  })

  it('leaves a record without a time to the window, which takes it as a late one', () => {
    const fold = foldOf(tumblingEventTimeWindows(10))
    expect(fold.add('a', { n: 1 }, NO_TIMESTAMP)).toBe(false)
  })

  it('sends records as they are until the declaration of a user has passed a check', () => {
    const fold = foldOf(tumblingEventTimeWindows(10), sum)
    for (let i = 0; i < 1_000; i++) expect(fold.add('a', { n: 1 }, 1)).toBe(true)
    expect(drained(fold)).toEqual([['a', 1000, 1000, 0]])
  })

  it('sends no part of a declared reduce that gives another result in parts', () => {
    const fold = open(
      tumblingEventTimeWindows(10),
      declared((a) => ({ n: a.n + 1 })),
    )
    for (let i = 1; i < CHECKED; i++) expect(fold.add('a', { n: 1 }, 1)).toBe(false)
    expect(() => fold.add('a', { n: 1 }, 1)).toThrow(
      expect.objectContaining({ code: 'NOT_ASSOCIATIVE' }) as Error,
    )
    expect(fold.size).toBe(0)
  })

  it('goes on checking: a reduce that gives another result only later fails, too', () => {
    const errors = (a: Row, b: Row): Row => ({ n: a.n + (b.n >= 500 ? 1 : 0) })
    const fold = open(tumblingEventTimeWindows(10), declared(errors))
    let seen = 0
    const feed = (): void => {
      for (; seen < 100_000; seen++) {
        fold.add('a', { n: seen > 20_000 && seen % 10 === 0 ? 500 : 0 }, 1)
        if (seen % 500 === 0) fold.drain(() => undefined)
      }
    }
    expect(feed).toThrow(expect.objectContaining({ code: 'NOT_ASSOCIATIVE' }) as Error)
    expect(seen).toBeGreaterThan(20_000)
    expect(seen).toBeLessThan(50_000)
  })

  it('checks the records of a window that ends before there are many', () => {
    const fold = open(
      tumblingEventTimeWindows(10),
      declared((a) => ({ n: a.n + 1 })),
    )
    for (let i = 0; i < 4; i++) fold.add('a', { n: 1 }, i)
    fold.afterWatermark(8)
    expect(() => fold.afterWatermark(9)).toThrow(
      expect.objectContaining({ code: 'NOT_ASSOCIATIVE' }) as Error,
    )
  })

  it('rests while each record has a key of its own, and tries again', () => {
    const fold = foldOf(tumblingEventTimeWindows(10))
    const fed = (from: number, count: number, keys: number): number => {
      let taken = 0
      for (let i = from; i < from + count; i++) {
        if (fold.add(i % keys, { n: 1 }, 1)) taken += 1
        if (i % 1000 === 999) fold.drain(() => undefined)
      }
      return taken
    }
    expect(fed(0, 10_000, 1e9)).toBeLessThan(10_000)
    expect(fed(10_000, 100_000, 10)).toBe(0)
    expect(fed(110_000, 100_000, 10)).toBeGreaterThan(50_000)
  })

  it('shares no object with the records', () => {
    const best = (a: Row, b: Row): Row => (b.n > a.n ? b : a)
    const fold = open(tumblingEventTimeWindows(10), reduceFold(best, { parts: 'in-order' }))
    const reused: Row = { n: 5 }
    fold.add('a', reused, 1)
    reused.n = 3
    fold.add('a', reused, 1)
    reused.n = 100
    expect(drained(fold)).toEqual([['a', 5, 2, 0]])
  })

  it('gives a function of the user copies, unless objects are reused', () => {
    const kept = (a: Row, b: Row): Row => {
      b.n += a.n
      return b
    }
    const changed = (reusesObjects: boolean): number => {
      const fold = open(tumblingEventTimeWindows(10), declared(kept), reusesObjects)
      const record: Row = { n: 1 }
      for (let i = 0; i < 2 * CHECKED; i++) fold.add('a', record, 1)
      return record.n
    }
    expect(changed(false)).toBe(1)
    expect(changed(true)).toBeGreaterThan(1)
  })

  it('is full at some thousand parts', () => {
    const fold = foldOf(tumblingEventTimeWindows(10))
    let taken = 0
    while (fold.add(taken, { n: 1 }, 1)) taken += 1
    expect(taken).toBe(4096)
  })
})
