import { describe, expect, it } from 'vitest'
import { areAlike, foldsAgree } from '../../../src/operators/folding/agreement.ts'
import { aggregateFold, reduceFold } from '../../../src/operators/windows/contents.ts'

const copy = (value: unknown): unknown => structuredClone(value)

describe('three records in turn and in two parts', () => {
  it('agree for sums, also where their order changes the last digits', () => {
    const sum = reduceFold<number>((a, b) => a + b)
    expect(foldsAgree(sum, [0.1, 0.2, 0.3], copy)).toBe(true)
  })

  it('agree for the last and the first of equal ones', () => {
    type Row = { n: number; id: string }
    const rows: [Row, Row, Row] = [
      { n: 1, id: 'a' },
      { n: 1, id: 'b' },
      { n: 1, id: 'c' },
    ]
    expect(
      foldsAgree(
        reduceFold<Row>((_, b) => b),
        rows,
        copy,
      ),
    ).toBe(true)
    expect(
      foldsAgree(
        reduceFold<Row>((a, b) => (b.n > a.n ? b : a)),
        rows,
        copy,
      ),
    ).toBe(true)
  })

  it('differ for a reduce that takes its second argument for one record', () => {
    const counting = reduceFold<{ n: number }>((a) => ({ n: a.n + 1 }))
    expect(foldsAgree(counting, [{ n: 1 }, { n: 1 }, { n: 1 }], copy)).toBe(false)
  })

  it('differ for a merge that keeps one side, and for one that throws', () => {
    const count = (merge: (a: number, b: number) => number) =>
      aggregateFold<unknown, number, number>({
        createAccumulator: () => 0,
        add: (_, n) => n + 1,
        getResult: (n) => n,
        merge,
      })
    const kept = count((a) => a)
    const thrown = count((a, b) => {
      if (a + b > 0) throw new Error('sessions are not used')
      return 0
    })
    expect(foldsAgree(kept, [1, 1, 1], copy)).toBe(false)
    expect(foldsAgree(thrown, [1, 1, 1], copy)).toBe(false)
  })

  it('do not see the records that a fold changes', () => {
    const changing = reduceFold<{ n: number }>((a, b) => {
      a.n += b.n
      return a
    })
    const records: [{ n: number }, { n: number }, { n: number }] = [{ n: 1 }, { n: 2 }, { n: 3 }]
    expect(foldsAgree(changing, records, copy)).toBe(true)
    expect(records).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  })
})

describe('values that are alike', () => {
  it('have the same fields', () => {
    expect(areAlike({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toBe(true)
    expect(areAlike({ a: 1 }, { a: 1, b: undefined })).toBe(false)
    expect(areAlike({ a: 1 }, { b: 1 })).toBe(false)
    expect(areAlike([1, 2], [1, 2, 3])).toBe(false)
    expect(areAlike([], {})).toBe(false)
    expect(areAlike(null, {})).toBe(false)
    expect(areAlike(Number.NaN, Number.NaN)).toBe(true)
    expect(areAlike(1, 1.001)).toBe(false)
  })

  it('are maps, sets and dates with the same content', () => {
    expect(areAlike(new Map([[1, { a: 2 }]]), new Map([[1, { a: 2 }]]))).toBe(true)
    expect(areAlike(new Map([[1, 2]]), new Map([[1, 3]]))).toBe(false)
    expect(areAlike(new Set([1]), new Set([2]))).toBe(false)
    expect(areAlike(new Date(5), new Date(5))).toBe(true)
    expect(areAlike(new Date(5), new Date(6))).toBe(false)
  })
})
