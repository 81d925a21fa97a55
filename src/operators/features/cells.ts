import type { Cell } from './tiled-cells.ts'

const NUMBER_BYTES = 8

/** A cell of one number, into which events fold. */
function oneNumber<OUT>(
  name: string,
  fold: (sum: number, input: number) => number,
  ofNothing: OUT,
): Cell<number | OUT> {
  return {
    name,
    width: NUMBER_BYTES,
    begin: (view, at, input) => view.setFloat64(at, input, true),
    add: (view, at, input) => view.setFloat64(at, fold(view.getFloat64(at, true), input), true),
    read: (view, { from, to, stride }) => {
      if (from >= to) return ofNothing
      let sum = view.getFloat64(from, true)
      for (let at = from + stride; at < to; at += stride) sum = fold(sum, view.getFloat64(at, true))
      return sum
    },
  }
}

const add = (a: number, b: number): number => a + b

/** The number of events: each adds 1. */
export const COUNT: Cell<number> = oneNumber('count', add, 0)
/** The sum of numbers, 0 of none. */
export const SUM: Cell<number> = oneNumber('sum', add, 0)
/** The smallest number, null of none. */
export const MIN: Cell<number | null> = oneNumber('min', Math.min, null)
/** The largest number, null of none. */
export const MAX: Cell<number | null> = oneNumber('max', Math.max, null)

/** The mean of numbers, null of none; a tile has their sum and their count. */
export const MEAN: Cell<number | null> = {
  name: 'mean',
  width: 2 * NUMBER_BYTES,
  begin(view, at, input) {
    view.setFloat64(at, input, true)
    view.setFloat64(at + NUMBER_BYTES, 1, true)
  },
  add(view, at, input) {
    view.setFloat64(at, view.getFloat64(at, true) + input, true)
    view.setFloat64(at + NUMBER_BYTES, view.getFloat64(at + NUMBER_BYTES, true) + 1, true)
  },
  read(view, { from, to, stride }) {
    let [sum, count] = [0, 0]
    for (let at = from; at < to; at += stride) {
      sum += view.getFloat64(at, true)
      count += view.getFloat64(at + NUMBER_BYTES, true)
    }
    return count === 0 ? null : sum / count
  },
}
