import { describe, expect, it } from 'vitest'
import type { ByteReader } from '../../../src/core/byte-reader.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { FoldCheck } from '../../../src/operators/folds/check.ts'
import { aggregateFold, type Fold, reduceFold } from '../../../src/operators/folds/fold.ts'
import type { AggregateFunction } from '../../../src/state/port/descriptors.ts'

const WINDOW_MS = 10

const declared = <T>(reduce: (a: T, b: T) => T): Fold<T, T> =>
  reduceFold(reduce, { parts: 'any-order', declared: 'reduce' })

/** Sees records of one key and window, and ends the window. */
function checked<IN, ACC>(
  fold: Fold<IN, ACC>,
  records: readonly IN[],
  anyOrder = true,
): FoldCheck<IN, ACC> {
  const check = new FoldCheck(fold, msgpackSerializer<IN>(), anyOrder)
  for (const record of records) check.see('key', record, 0, WINDOW_MS)
  check.close(WINDOW_MS)
  return check
}

const differs = (message: string): Error =>
  expect.objectContaining({
    code: 'NOT_ASSOCIATIVE',
    message: expect.stringContaining(message) as string,
  }) as Error

const counting = (
  merge: AggregateFunction<number, number, number>['merge'],
): Fold<number, number> =>
  aggregateFold({ createAccumulator: () => 0, add: (_, n) => n + 1, getResult: (n) => n, merge })

describe('the check of a declared fold', () => {
  it('passes sums, also where their order changes the last digits', () => {
    expect(
      checked(
        declared<number>((a, b) => a + b),
        [0.1, 0.2, 0.3, 1e16, -1e16],
      ).hasPassed,
    ).toBe(true)
  })

  it('finds a reduce that takes its second argument for one record', () => {
    const counts = declared<{ n: number }>((a) => ({ n: a.n + 1 }))
    expect(() => checked(counts, [{ n: 1 }, { n: 1 }, { n: 1 }])).toThrow(
      differs('leave out associative: true'),
    )
  })

  it('finds a merge that keeps one side, and one that throws', () => {
    expect(() =>
      checked(
        counting((a) => a),
        [1, 1, 1],
      ),
    ).toThrow(differs('merge of the aggregate gives another result'))
    const throwing = counting((a, b) => {
      if (a + b > 0) throw new Error('sessions are not used')
      return 0
    })
    expect(() => checked(throwing, [1, 1, 1])).toThrow(differs('{ associative: false }'))
    expect(
      checked(
        counting((a, b) => a + b),
        [1, 1, 1],
      ).hasPassed,
    ).toBe(true)
  })

  it('passes a function that throws once, for a reason of its own', () => {
    let calls = 0
    const sum = declared<number>((a, b) => {
      calls += 1
      // The first call for the parts, after two calls in turn.
      if (calls === 3) throw new Error('not now')
      return a + b
    })
    expect(checked(sum, [1, 2, 3]).hasPassed).toBe(true)
    expect(calls).toBeGreaterThan(3)
  })

  it('finds a function whose result depends on the order, where parts have none', () => {
    const last = <T>(_: T, b: T): T => b
    expect(() => checked(declared(last), [1, 2, 3])).toThrow(differs('change places'))
    expect(checked(declared<number>(last), [1, 2, 3], false).hasPassed).toBe(true)
  })

  it('takes the results for the test where accumulators differ in their order alone', () => {
    const distinct = aggregateFold<number, number[], number>({
      createAccumulator: () => [],
      add: (value, seen) => (seen.includes(value) ? seen : [...seen, value]),
      getResult: (seen) => seen.length,
      merge: (a, b) => [...new Set([...a, ...b])],
    })
    expect(checked(distinct, [1, 2, 3, 2]).hasPassed).toBe(true)
  })

  it('gives copies of records to a function that changes or keeps them', () => {
    const kept: { n: number }[] = []
    const changing = declared<{ n: number }>((a, b) => {
      kept.push(b)
      a.n += b.n
      return a
    })
    const records = [{ n: 1 }, { n: 2 }, { n: 3 }]
    expect(checked(changing, records).hasPassed).toBe(true)
    expect(records).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    expect(kept.some((each) => records.includes(each))).toBe(false)
  })

  it('looks at the records of one key and window alone', () => {
    const sameKey = declared<[key: string, time: number, n: number]>((a, b) => {
      if (a[0] !== b[0] || Math.floor(a[1] / 10) !== Math.floor(b[1] / 10)) throw new Error('mixed')
      return [a[0], a[1], a[2] + b[2]]
    })
    const check = new FoldCheck(sameKey, msgpackSerializer<[string, number, number]>(), false)
    for (let time = 0; time < 400; time++) {
      for (const key of ['a', 'b']) check.see([key, 1], [key, time, 1], time - (time % 10), 10)
      check.close(time - 20)
    }
    expect(check.hasPassed).toBe(true)
  })

  it('says nothing of two records, which have no parts', () => {
    const counts = declared<{ n: number }>((a) => ({ n: a.n + 1 }))
    expect(checked(counts, [{ n: 1 }, { n: 1 }]).hasPassed).toBe(false)
  })

  it('rests after a look that waits for a rare key, and finds a change of the function later', () => {
    let isRight = true
    const sums = declared<{ n: number }>((a, b) => ({ n: a.n + (isRight ? b.n : 1) }))
    let copies = 0
    const plain = msgpackSerializer<{ n: number }>()
    const counting = {
      ...plain,
      read: (reader: ByteReader) => {
        copies++
        return plain.read(reader)
      },
    }
    const check = new FoldCheck(sums, counting, true)
    for (let i = 0; i < 8; i++) check.see('key', { n: 2 }, 0, WINDOW_MS)
    expect(check.hasPassed).toBe(true)
    copies = 0
    for (let i = 0; i < 2 ** 20; i++) check.see(i, { n: 2 }, 0, WINDOW_MS)
    expect(copies).toBeGreaterThanOrEqual(2)
    expect(copies).toBeLessThanOrEqual(3)
    isRight = false
    expect(() => {
      for (let i = 0; i < 2 ** 20; i++) check.see('key', { n: 2 }, 0, WINDOW_MS)
    }).toThrow(differs('leave out associative: true'))
  })
})
