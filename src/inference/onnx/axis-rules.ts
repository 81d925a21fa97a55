import { broadcastOf } from './elementwise.ts'
import { placesOfCut, slicedNumbers } from './number-lists.ts'
import type { Operation, Rule } from './operation.ts'
import { isSameSize, knownSize, ONE, productOf, type Size, sizeOf } from './size.ts'
import { fixedTensor, type ItemAxis, itemTensor, type TracedTensor } from './traced-value.ts'

/** An output of this shape, with the items of the input where there are any. */
export const withItems = (
  shape: readonly Size[],
  items: ItemAxis | undefined,
  axis = items?.axis ?? 0,
): TracedTensor =>
  items === undefined ? fixedTensor(shape) : itemTensor(shape, { axis, outer: items.outer })

/** Throws Mixing when one of the axes has the items. */
function requireOthers(operation: Operation, axes: readonly number[], items?: ItemAxis): void {
  if (items !== undefined && axes.includes(items.axis)) throw operation.over(items.axis)
}

/** Operations that mix along some axes and keep the shape. `axesOf`: those axes, from the rank. */
export const along =
  (axesOf: (operation: Operation, rank: number) => readonly number[]): Rule =>
  (operation) => {
    operation.requireNoCounts()
    for (let i = 1; i < operation.inputs.length; i++) operation.fixed(i)
    const shape = operation.shape(0)
    const { items } = operation.input(0)
    requireOthers(operation, axesOf(operation, shape.length), items)
    return operation.node.outputs.map(() => withItems(shape, items))
  }

const rangeOf = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)

/** One axis that an attribute names. */
export const alongAxis = (otherwise: number): Rule =>
  along((operation, rank) => [operation.axis(operation.number('axis', otherwise), rank)])

/** The axis of an attribute and all behind it. */
export const alongTail = (otherwise: number): Rule =>
  along((operation, rank) =>
    rangeOf(operation.axis(operation.number('axis', otherwise), rank), rank),
  )

/** `Softmax` and its kin: before operator set 13 over the axis and all behind it. */
export const softmax: Rule = (operation) =>
  operation.opset < 13 ? alongTail(1)(operation) : alongAxis(-1)(operation)

/** Operations along the axis that the second input names. */
export const alongInput: Rule = (operation) =>
  along((_, rank) => operation.settings('', 1)!.map((axis) => operation.axis(axis, rank)))(
    operation,
  )

/** Operations on all axes but the first: normalisation of each picture, a matrix in each item. */
export const alongOthers: Rule = along((_, rank) => rangeOf(1, rank))

/** Operations on the last two axes. */
export const alongLastTwo: Rule = along((_, rank) => [rank - 2, rank - 1])

/** Normalisation with numbers that were learned for each place of axis 1. */
export const batchNormalization: Rule = (operation) => {
  const isTrained = operation.number('training_mode', 0) !== 0
  if (isTrained || operation.node.outputs.filter((name) => name !== '').length > 1) {
    throw operation.mixing('is in training mode')
  }
  return along(() => [1])(operation)
}

/** `SkipLayerNormalization`: a sum of two tensors, normalised along the last axis. */
export const skipNormalization: Rule = (operation) => {
  operation.requireNoCounts()
  for (let i = 2; i < operation.inputs.length; i++) operation.fixed(i)
  const sum = broadcastOf(operation, [operation.input(0), operation.input(1)])
  requireOthers(operation, [(sum.shape?.length ?? 0) - 1], sum.items)
  return operation.node.outputs.map(() => sum)
}

/** Reductions; without axes they take all. */
export const reduce: Rule = (operation) => {
  const shape = operation.shape(0)
  const { numbers } = operation.input(0)
  if (operation.name === 'ReduceProd' && numbers !== undefined && shape.length === 1) {
    const product = productOf(numbers)
    if (product === undefined) throw operation.mixing('computes with the number of items')
    const isKept = operation.number('keepdims', 1) !== 0
    return [fixedTensor(isKept ? [ONE] : [], [product])]
  }
  operation.requireNoCounts()
  const given = operation.settings('axes', 1)
  if ((given?.length ?? 0) === 0 && operation.number('noop_with_empty_axes', 0) !== 0) {
    return [operation.input(0)]
  }
  const rank = shape.length
  const axes =
    given === undefined || given.length === 0
      ? rangeOf(0, rank)
      : given.map((axis) => operation.axis(axis, rank))
  return [reduced(operation, axes)]
}

/** `ArgMax` and `ArgMin`. */
export const argReduce: Rule = (operation) => {
  operation.requireNoCounts()
  const rank = operation.shape(0).length
  return [reduced(operation, [operation.axis(operation.number('axis', 0), rank)])]
}

function reduced(operation: Operation, axes: readonly number[]): TracedTensor {
  const shape = operation.shape(0)
  const { items } = operation.input(0)
  requireOthers(operation, axes, items)
  if (operation.number('keepdims', 1) !== 0) {
    return withItems(
      shape.map((size, d) => (axes.includes(d) ? ONE : size)),
      items,
    )
  }
  const kept = shape.filter((_, d) => !axes.includes(d))
  const before = axes.filter((axis) => items !== undefined && axis < items.axis).length
  return withItems(kept, items, (items?.axis ?? 0) - before)
}

/** `TopK`: values and places of the largest along an axis. */
export const topK: Rule = (operation) => {
  operation.requireNoCounts()
  operation.fixed(1)
  const shape = operation.shape(0)
  const { items } = operation.input(0)
  const axis = operation.axis(operation.number('axis', -1), shape.length)
  requireOthers(operation, [axis], items)
  const count = operation.inputs[1]?.numbers?.[0] ?? sizeOf(operation.number('k', Number.NaN))
  const size = Number.isNaN(count.factor) ? operation.anySize() : count
  const kept = shape.map((one, d) => (d === axis ? size : one))
  return operation.node.outputs.map(() => withItems(kept, items))
}

/** `Concat`: along another axis than that of the items, which every part must have. */
export const concat: Rule = (operation) => {
  const inputs = operation.inputs.map((_, i) => operation.input(i))
  const numbers = inputs.every((one) => one.numbers !== undefined && (one.shape?.length ?? 0) <= 1)
    ? inputs.flatMap((one) => one.numbers!)
    : undefined
  if (numbers !== undefined) return [fixedTensor([sizeOf(numbers.length)], numbers)]
  operation.requireNoCounts()
  const first = inputs.find(({ items }) => items !== undefined) ?? inputs[0]!
  const { items } = first
  const rank = operation.shape(inputs.indexOf(first)).length
  const axis = operation.axis(operation.number('axis', 1), rank)
  requireOthers(operation, [axis], items)
  for (const [i, one] of inputs.entries()) {
    const shape = operation.shape(i)
    if (items === undefined) continue
    const isAlike =
      one.items?.axis === items.axis &&
      isSameSize(one.items.outer, items.outer) &&
      isSameSize(shape[items.axis]!, first.shape![items.axis]!)
    if (!isAlike) throw operation.mixing('joins a part without the items to them')
  }
  return [withItems(joinedShape(operation, axis), items)]
}

function joinedShape(operation: Operation, axis: number): readonly Size[] {
  const shapes = operation.inputs.map((_, i) => operation.shape(i))
  const sizes = shapes.map((shape) => knownSize(shape[axis] ?? ONE))
  const isKnown = sizes.every((size) => size !== undefined)
  const sum = isKnown
    ? sizeOf(sizes.reduce<number>((all, size) => all + size!, 0))
    : operation.anySize()
  return shapes[0]!.map((size, d) => (d === axis ? sum : size))
}

/** `Split` along another axis than that of the items. */
export const split: Rule = (operation) => {
  operation.requireNoCounts()
  operation.fixed(1)
  const shape = operation.shape(0)
  const { items } = operation.input(0)
  const axis = operation.axis(operation.number('axis', 0), shape.length)
  requireOthers(operation, [axis], items)
  const given = operation.numbers('split') ?? operation.inputs[1]?.numbers?.map(knownSize)
  const whole = knownSize(shape[axis]!)
  const parts = operation.node.outputs.length
  return operation.node.outputs.map((_, i) => {
    const even = whole !== undefined && whole % parts === 0 ? whole / parts : undefined
    const known = given === undefined ? even : given[i]
    const size = known === undefined ? operation.anySize() : sizeOf(known)
    return withItems(
      shape.map((one, d) => (d === axis ? size : one)),
      items,
    )
  })
}

/** Largest end of a slice that stands for "to the end". */
const END = 2 ** 31 - 1

/** `Slice` of other axes than that of the items, or of all of them. */
export const slice: Rule = (operation) => {
  const input = operation.input(0)
  const starts = operation.settings('starts', 1)
  const ends = endsOf(operation)
  const shape = operation.shape(0)
  const axes = (operation.settings('axes', 3) ?? starts!.map((_, i) => i)).map((axis) =>
    operation.axis(axis, shape.length),
  )
  const steps = operation.settings('steps', 4) ?? starts!.map(() => 1)
  const numbers = cutNumbers(input, { starts: starts!, ends, axes, steps })
  if (numbers !== undefined) return [numbers]
  operation.requireNoCounts()
  const sliced = shape.map((size, d) => {
    const i = axes.indexOf(d)
    if (i < 0) return size
    const isWhole = starts![i] === 0 && steps[i] === 1 && (ends[i] ?? 0) >= END
    if (d === input.items?.axis && !isWhole) throw operation.over(d)
    return isWhole ? size : slicedSize(operation, size, [starts![i]!, ends[i], steps[i]!])
  })
  return [withItems(sliced, input.items)]
}

/** The ends, each undefined where only a request knows it. */
function endsOf(operation: Operation): readonly (number | undefined)[] {
  const given = operation.numbers('ends')
  if (given !== undefined) return given
  const tensor = operation.input(2)
  const count = operation.input(1).numbers?.length ?? 0
  // An end made of the number of items would be of another size for each batch.
  if (tensor.items !== undefined) throw operation.mixing('takes a parameter from the items')
  return Array.from({ length: count }, (_, i) => {
    const number = tensor.numbers?.[i]
    if (number?.isOfItems === true) throw operation.mixing('computes with the number of items')
    return number === undefined ? undefined : knownSize(number)
  })
}

type Cut = readonly [start: number, end: number | undefined, step: number]

function slicedSize(operation: Operation, size: Size, [start, end, step]: Cut): Size {
  const whole = knownSize(size)
  if (whole === undefined || end === undefined || step !== 1) return operation.anySize()
  const place = (at: number): number => Math.max(0, Math.min(whole, at < 0 ? at + whole : at))
  return sizeOf(Math.max(0, place(end) - place(start)))
}

interface Cuts {
  readonly starts: readonly number[]
  readonly ends: readonly (number | undefined)[]
  readonly axes: readonly number[]
  readonly steps: readonly number[]
}

/** A part of a small tensor of numbers; undefined for other tensors. */
function cutNumbers(
  { numbers, shape }: TracedTensor,
  { starts, ends, axes, steps }: Cuts,
): TracedTensor | undefined {
  const sizes = shape?.map(knownSize)
  const isKnown = sizes?.every((size) => size !== undefined) ?? false
  const [axis, start, end, step] = [axes[0], starts[0], ends[0], steps[0]]
  if (numbers === undefined || !isKnown || axes.length !== 1 || end === undefined) return undefined
  const cut = { axis: axis!, start: start!, end, step: step! }
  const cutShape = sizes!.map((size, d) => (d === axis ? placesOfCut(cut, size!).length : size!))
  return fixedTensor(cutShape.map(sizeOf), slicedNumbers(numbers, sizes as number[], cut))
}

/** `Pad` of other axes than that of the items. */
export const pad: Rule = (operation) => {
  operation.requireNoCounts()
  operation.fixed(2)
  const shape = operation.shape(0)
  const { items } = operation.input(0)
  const pads = operation.settings('pads', 1) ?? operation.numbers('paddings') ?? []
  const given = operation.settings('axes', 3)
  const axes = given?.map((axis) => operation.axis(axis, shape.length)) ?? shape.map((_, d) => d)
  const half = pads.length / 2
  const padded = shape.map((size, d) => {
    const i = axes.indexOf(d)
    const more = i < 0 ? 0 : Math.abs(pads[i]!) + Math.abs(pads[half + i]!)
    if (more === 0) return size
    if (d === items?.axis) throw operation.over(d)
    const whole = knownSize(size)
    return whole === undefined ? operation.anySize() : sizeOf(whole + pads[i]! + pads[half + i]!)
  })
  return [withItems(padded, items)]
}
