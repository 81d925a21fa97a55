import { describe, expect, it } from 'vitest'
import {
  type Accumulator,
  AverageAccumulator,
  DoubleCounter,
  DoubleMaximum,
  DoubleMinimum,
  HistogramAccumulator,
  IntCounter,
  IntMaximum,
  IntMinimum,
  ListAccumulator,
  LongCounter,
  LongMaximum,
  LongMinimum,
} from '../../../src/index.ts'

/** Of each type: what two subtasks add, the merged result, and the result of an empty one. */
const CASES: readonly [() => Accumulator, number[], number[], unknown, unknown][] = [
  [() => new IntCounter(), [1, 2], [-5], -2, 0],
  [() => new LongCounter(), [2 ** 40], [1], 2 ** 40 + 1, 0],
  [() => new DoubleCounter(), [0.5], [0.25], 0.75, 0],
  [() => new AverageAccumulator(), [1, 2], [6], 3, 0],
  [() => new IntMinimum(), [3, 4], [-1], -1, 2 ** 31 - 1],
  [() => new IntMaximum(), [3, 4], [-1], 4, -(2 ** 31)],
  [() => new LongMinimum(), [3], [2], 2, Number.MAX_SAFE_INTEGER],
  [() => new LongMaximum(), [3], [7], 7, Number.MIN_SAFE_INTEGER],
  [() => new DoubleMinimum(), [0.5], [0.25], 0.25, Number.POSITIVE_INFINITY],
  [() => new DoubleMaximum(), [0.5], [0.25], 0.5, Number.NEGATIVE_INFINITY],
  [() => new ListAccumulator<number>(), [1, 2], [1], [1, 2, 1], []],
]

function holding(create: () => Accumulator, values: readonly number[]): Accumulator {
  const accumulator = create()
  for (const value of values) accumulator.add(value)
  return accumulator
}

describe('types of accumulators', () => {
  it.each(CASES)('merge what two subtasks added: %s', (create, a, b, merged) => {
    const accumulator = holding(create, a)
    accumulator.merge(structuredClone(holding(create, b).state()))
    expect(accumulator.getLocalValue()).toEqual(merged)
  })

  it.each(CASES)('begin empty again after resetLocal: %s', (create, a, _b, _merged, empty) => {
    const accumulator = holding(create, a)
    accumulator.resetLocal()
    expect(accumulator.getLocalValue()).toEqual(empty)
    expect(create().getLocalValue()).toEqual(empty)
  })

  it('count each number in a histogram, sorted by number', () => {
    const histogram = new HistogramAccumulator()
    for (const value of [10, 9, 10]) histogram.add(value)
    const other = new HistogramAccumulator()
    other.add(9)
    other.add(1)
    histogram.merge(other.state())
    expect([...histogram.getLocalValue()]).toEqual([
      [1, 1],
      [9, 2],
      [10, 2],
    ])
    histogram.resetLocal()
    expect(histogram.getLocalValue().size).toBe(0)
  })

  it('give states that later records do not change', () => {
    const list = new ListAccumulator<number>()
    const histogram = new HistogramAccumulator()
    const [before, counts] = [list.state(), histogram.state()]
    list.add(1)
    histogram.add(1)
    expect(before).toEqual([])
    expect(counts.size).toBe(0)
  })

  it.each([new IntCounter(), new LongCounter(), new HistogramAccumulator()])(
    'refuse fractions: %s',
    (accumulator) => {
      expect(() => accumulator.add(0.5)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
    },
  )
})
