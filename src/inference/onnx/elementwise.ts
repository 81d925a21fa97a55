import type { Operation, Rule } from './operation.ts'
import { dividedBy, isSameSize, knownSize, ONE, type Size, sizeOf, times } from './size.ts'
import {
  countsItems,
  fixedTensor,
  type ItemAxis,
  itemTensor,
  Mixing,
  type TracedTensor,
} from './traced-value.ts'

/** Number of the type in `TensorProto.DataType`. */
const BOOL = 9

/** Operations on each element: outputs have the shape of the first input, the other inputs are parameters. */
export const unary: Rule = (operation) => {
  operation.requireNoCounts()
  const [, ...parameters] = operation.inputs
  if (parameters.some((one) => one?.items !== undefined)) {
    throw operation.mixing('takes a parameter from the items')
  }
  const { shape, items } = operation.input(0)
  return operation.node.outputs.map(() => ({ shape, items, numbers: undefined }))
}

/** `Identity` and `Cast`, which keep whole numbers; truth has two values only. */
export const identity: Rule = (operation) => {
  const input = operation.input(0)
  const isTruth = operation.name === 'Cast' && operation.number('to', 0) === BOOL
  const isWhole = input.numbers?.every(({ factor }) => Number.isInteger(factor)) ?? true
  if (isWhole && !isTruth) return [input]
  operation.requireNoCounts()
  return [{ ...input, numbers: isTruth ? truthOf(input, (number) => number !== 0) : undefined }]
}

/** `Not`. */
export const not: Rule = (operation) => {
  operation.requireNoCounts()
  const input = operation.input(0)
  return [{ ...input, numbers: truthOf(input, (number) => number === 0) }]
}

function truthOf(
  { numbers }: TracedTensor,
  isTrue: (number: number) => boolean,
): readonly Size[] | undefined {
  const known = numbers?.map(knownSize)
  if (known === undefined || known.some((number) => number === undefined)) return undefined
  return known.map((number) => sizeOf(isTrue(number!) ? 1 : 0))
}

/** `Dropout` when a model is used, not trained. */
export const dropout: Rule = (operation) => {
  const isTrained = operation.inputs[2] !== undefined && operation.settings('', 2)?.[0] !== 0
  if (isTrained) throw operation.mixing('draws random numbers')
  return unary(operation)
}

/** Operations on the elements of several tensors, with broadcasting. */
export const broadcast: Rule = (operation) => {
  const inputs = operation.inputs.filter((input) => input !== undefined)
  const numbers = numbersOf(operation, inputs)
  if (numbers === undefined) operation.requireNoCounts()
  return [{ ...broadcastOf(operation, inputs), numbers }]
}

/** The tensor that broadcasting gives. Throws Mixing. */
export function broadcastOf(operation: Operation, inputs: readonly TracedTensor[]): TracedTensor {
  const rank = Math.max(...inputs.map(({ shape }) => shape?.length ?? 0))
  const isWhole = inputs.every(({ shape }) => shape !== undefined)
  if (!isWhole && inputs.every(({ items }) => items === undefined)) return fixedTensor()
  const shape: Size[] = []
  let items: ItemAxis | undefined
  for (let axis = 0; axis < rank; axis++) {
    const meeting = inputs.map((input) => sizeAt(operation, input, axis, rank))
    const size = broadcastSize(
      operation,
      meeting.map(({ size }) => size),
    )
    const found = meeting.filter((one) => one.outer !== undefined)
    if (found.length > 0) {
      const [first] = found
      const isAlike = found.every(({ outer }) => isSameSize(outer!, first!.outer!))
      if (items !== undefined || !isAlike)
        throw operation.mixing('brings the items of two axes together')
      items = { axis, outer: first!.outer! }
    }
    shape.push(size)
  }
  return items === undefined ? fixedTensor(shape) : itemTensor(shape, items)
}

/** The size of an axis of the output in one input, which has fewer axes in front, and what is before the items there. */
function sizeAt(
  operation: Operation,
  { shape, items }: TracedTensor,
  axis: number,
  rank: number,
): { readonly size: Size; readonly outer: Size | undefined } {
  if (shape === undefined) throw operation.mixing('meets a tensor of a shape that is not known')
  const own = axis - (rank - shape.length)
  if (own < 0) return { size: ONE, outer: undefined }
  return { size: shape[own]!, outer: items?.axis === own ? items.outer : undefined }
}

/** The size to which these sizes are broadcast. Throws Mixing where the items would meet another size than 1. */
export function broadcastSize(operation: Operation, sizes: readonly Size[]): Size {
  const others = sizes.filter((size) => knownSize(size) !== 1)
  const [first] = others
  if (first === undefined) return ONE
  if (others.every((size) => isSameSize(size, first))) return first
  if (others.some(({ isOfItems }) => isOfItems)) {
    throw operation.mixing('meets the items with an axis of another size')
  }
  const known = others.find((size) => knownSize(size) !== undefined)
  return known ?? operation.anySize()
}

type Arithmetic = (...numbers: Size[]) => Size | undefined

const both = (a: Size, b: Size, of: (a: number, b: number) => number): Size | undefined => {
  const [x, y] = [knownSize(a), knownSize(b)]
  if (x !== undefined && y !== undefined) return sizeOf(of(x, y))
  return undefined
}

/** What is known of numbers that a graph computes from sizes. Sizes are 0 or more. */
const ARITHMETIC: Readonly<Record<string, Arithmetic>> = {
  Mul: times,
  Div: (a, b) => dividedBy(a, b),
  Add: (a, b) => both(a, b, (x, y) => x + y) ?? sumOf(a, b),
  Sub: (a, b) => both(a, b, (x, y) => x - y) ?? (isSameSize(a, b) ? sizeOf(0) : undefined),
  Equal: (a, b) =>
    both(a, b, (x, y) => (x === y ? 1 : 0)) ??
    (isApart(a, b) || isApart(b, a) ? sizeOf(0) : undefined),
  And: (a, b) => both(a, b, (x, y) => x * y),
  Or: (a, b) => both(a, b, Math.max),
  Greater: (a, b) => both(a, b, (x, y) => (x > y ? 1 : 0)),
  Less: (a, b) => both(a, b, (x, y) => (x < y ? 1 : 0)),
  Where: (condition, a, b) => {
    const known = knownSize(condition)
    return known === undefined ? undefined : known === 0 ? b : a
  },
}

/** Whether one is below zero and the other a product of sizes, which are not; a name that begins with ? may be of any number. */
const isApart = (number: Size, size: Size): boolean =>
  (knownSize(number) ?? 0) < 0 &&
  size.factor >= 0 &&
  size.names.every((name) => !name.startsWith('?'))

function sumOf(a: Size, b: Size): Size | undefined {
  if (knownSize(a) === 0) return b
  return knownSize(b) === 0 ? a : undefined
}

/** The elements, where the inputs are numbers made of sizes; undefined where they are not, or cannot be named. */
function numbersOf(
  operation: Operation,
  inputs: readonly TracedTensor[],
): readonly Size[] | undefined {
  const compute = ARITHMETIC[operation.name]
  const lists = inputs.map(({ numbers }) => numbers)
  if (compute === undefined || lists.some((list) => list === undefined)) return undefined
  const count = Math.max(...lists.map((list) => list!.length))
  if (lists.some((list) => list!.length !== count && list!.length !== 1)) return undefined
  const isCounting = inputs.some(countsItems)
  const numbers: Size[] = []
  for (let i = 0; i < count; i++) {
    const elements = lists.map((list) => list![list!.length === 1 ? 0 : i]!)
    const number = compute(...elements)
    if (number === undefined && (!isCounting || elements.every((one) => !one.isOfItems))) {
      numbers.push(operation.anySize())
    } else if (number === undefined)
      throw new Mixing(`${operation.name} computes with the number of items`)
    else numbers.push(number)
  }
  return numbers
}

/** `QuantizeLinear` and `DequantizeLinear`: a scale for the tensor, or for each place of one axis. */
export const quantized: Rule = (operation) => {
  operation.requireNoCounts()
  const { shape, items } = operation.input(0)
  const scale = operation.fixed(1)?.shape
  operation.fixed(2)
  if (items === undefined) return [fixedTensor(shape)]
  const axis = operation.axis(operation.number('axis', 1), shape!.length)
  const isOne = scale?.every((size) => knownSize(size) === 1) ?? false
  if (!isOne && (axis === items.axis || scale?.length !== 1)) throw operation.over(items.axis)
  return [itemTensor(shape!, items)]
}
