import type { Size } from './size.ts'

/** Elements of a small tensor of numbers in another order of its axes. */
export function transposedNumbers(
  numbers: readonly Size[],
  shape: readonly number[],
  order: readonly number[],
): Size[] {
  const target = order.map((d) => shape[d]!)
  return numbers.map((_, i) => {
    const places = placesOf(i, target)
    const source: number[] = []
    for (const [d, axis] of order.entries()) source[axis] = places[d]!
    return numbers[source.reduce((at, place, d) => at * shape[d]! + place, 0)]!
  })
}

/** A part of one axis: from `start` on in steps, before `end`; negative ones count from the end. */
export interface Cut {
  readonly axis: number
  readonly start: number
  readonly end: number
  readonly step: number
}

/** The places of an axis of this size that a cut takes. */
export function placesOfCut({ start, end, step }: Omit<Cut, 'axis'>, size: number): number[] {
  const from = step > 0 ? [0, size] : [-1, size - 1]
  const within = (at: number): number =>
    Math.max(from[0]!, Math.min(from[1]!, at < 0 ? at + size : at))
  const places: number[] = []
  const first = step < 0 && start >= size ? size - 1 : Math.max(0, within(start))
  for (let at = first; step > 0 ? at < within(end) : at > within(end); at += step) places.push(at)
  return places
}

/** Elements of a small tensor of numbers after a cut. */
export function slicedNumbers(
  numbers: readonly Size[],
  shape: readonly number[],
  cut: Cut,
): Size[] {
  const order = placesOfCut(cut, shape[cut.axis]!)
  const inner = shape.slice(cut.axis + 1).reduce((product, size) => product * size, 1)
  const outer = numbers.length / (inner * shape[cut.axis]!)
  const sliced: Size[] = []
  for (let block = 0; block < outer; block++) {
    for (const place of order) {
      const at = (block * shape[cut.axis]! + place) * inner
      sliced.push(...numbers.slice(at, at + inner))
    }
  }
  return sliced
}

/** The place along each axis of an element. */
function placesOf(index: number, shape: readonly number[]): number[] {
  let rest = index
  return shape
    .toReversed()
    .map((size) => {
      const place = rest % size
      rest = Math.floor(rest / size)
      return place
    })
    .reverse()
}
