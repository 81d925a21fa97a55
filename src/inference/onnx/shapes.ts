import { withItems } from './axis-rules.ts'
import { broadcastOf } from './elementwise.ts'
import { transposedNumbers } from './number-lists.ts'
import type { Operation, Rule } from './operation.ts'
import {
  dividedBy,
  ITEMS,
  isSameSize,
  knownSize,
  ONE,
  productOf,
  type Size,
  sizeOf,
  times,
} from './size.ts'
import {
  beforeItems,
  fixedTensor,
  type ItemAxis,
  itemTensor,
  type TracedTensor,
} from './traced-value.ts'

/** `Shape`: the sizes as numbers. */
export const shapeNumbers: Rule = (operation) => {
  const shape = operation.shape(0)
  const rank = shape.length
  const start = operation.axis(operation.number('start', 0), rank)
  const end = operation.axis(operation.number('end', rank), rank)
  const numbers = shape.slice(start, end)
  return [fixedTensor([sizeOf(numbers.length)], numbers)]
}

/** `Size`: the number of elements. */
export const sizeNumber: Rule = (operation) => {
  const product = productOf(operation.shape(0))
  if (product === undefined) throw operation.mixing('computes with the number of items')
  return [fixedTensor([], [product])]
}

/** `Constant`. */
export const constant: Rule = ({ node }) => {
  const value = node.attributes.get('value')?.constant
  if (value !== undefined) return [fixedTensor(value.shape.map(sizeOf), value.values?.map(sizeOf))]
  const single = node.attributes.get('value_int') ?? node.attributes.get('value_float')
  if (single?.number !== undefined) return [fixedTensor([], [sizeOf(single.number)])]
  const list = node.attributes.get('value_ints') ?? node.attributes.get('value_floats')
  if (list !== undefined) {
    return [fixedTensor([sizeOf(list.numbers.length)], list.numbers.map(sizeOf))]
  }
  return [fixedTensor(node.attributes.has('value_string') ? [] : undefined)]
}

/** `Transpose`. */
export const transpose: Rule = (operation) => {
  const shape = operation.shape(0)
  const { items, numbers } = operation.input(0)
  const order = operation.numbers('perm') ?? shape.map((_, d) => shape.length - 1 - d)
  const moved = order.map((d) => shape[d]!)
  const sizes = shape.map(knownSize)
  if (numbers !== undefined && sizes.every((size) => size !== undefined)) {
    return [fixedTensor(moved, transposedNumbers(numbers, sizes, order))]
  }
  operation.requireNoCounts()
  return [withItems(moved, items, items === undefined ? 0 : order.indexOf(items.axis))]
}

/** `Unsqueeze`. */
export const unsqueeze: Rule = (operation) => {
  const input = operation.input(0)
  const shape = operation.shape(0)
  const given = operation.settings('axes', 1) ?? []
  const rank = shape.length + given.length
  const axes = given.map((axis) => operation.axis(axis, rank))
  const rest = [...shape]
  const whole: Size[] = []
  let at = -1
  for (let d = 0, own = 0; d < rank; d++) {
    if (axes.includes(d)) whole.push(ONE)
    else {
      if (own++ === input.items?.axis) at = d
      whole.push(rest.shift()!)
    }
  }
  return [{ ...withItems(whole, input.items, at), numbers: input.numbers }]
}

/** `Squeeze`; without axes its shape depends on whether there is one item. */
export const squeeze: Rule = (operation) => {
  const input = operation.input(0)
  const shape = operation.shape(0)
  const given = operation.settings('axes', 1)
  if (given === undefined && input.items !== undefined) throw operation.mixing('without axes')
  const axes = given?.map((axis) => operation.axis(axis, shape.length))
  const isKept = (size: Size, d: number): boolean =>
    axes === undefined ? knownSize(size) !== 1 : !axes.includes(d)
  if (input.items !== undefined && axes!.includes(input.items.axis)) {
    throw operation.over(input.items.axis)
  }
  const isUnknown = axes === undefined && shape.some((size) => knownSize(size) === undefined)
  if (isUnknown) return [{ ...fixedTensor(), numbers: input.numbers }]
  const before = (axes ?? []).filter((axis) => axis < (input.items?.axis ?? 0)).length
  const kept = shape.filter(isKept)
  const moved = withItems(kept, input.items, (input.items?.axis ?? 0) - before)
  return [{ ...moved, numbers: input.numbers }]
}

/** `Flatten`: two axes, cut before one of the input. */
export const flatten: Rule = (operation) => {
  operation.requireNoCounts()
  const shape = operation.shape(0)
  const axis = operation.axis(operation.number('axis', 1), shape.length)
  const [first, second] = [productOf(shape.slice(0, axis)), productOf(shape.slice(axis))]
  return [reshaped(operation, operation.input(0), [first!, second!])]
}

/** `Reshape`: the items stay together where the target says how many there are. */
export const reshape: Rule = (operation) => {
  const input = operation.input(0)
  const target = operation.input(1)
  const given =
    target.items === undefined
      ? (target.numbers ?? operation.numbers('shape')?.map(sizeOf))
      : undefined
  if (given === undefined) {
    if (input.items === undefined && target.items === undefined) {
      operation.requireNoCounts()
      return [fixedTensor()]
    }
    throw operation.mixing('takes a shape that is not known')
  }
  const isZeroSize = operation.number('allowzero', 0) !== 0
  const whole = targetOf(operation, given, isZeroSize)
  if (input.numbers !== undefined) return [fixedTensor(whole, input.numbers)]
  return [reshaped(operation, input, whole)]
}

/** The sizes of a target, with 0 and -1 worked out. Throws Mixing. */
function targetOf(operation: Operation, given: readonly Size[], isZeroSize: boolean): Size[] {
  const { shape, items } = operation.input(0)
  const copied = given.map((size, d) => {
    if (knownSize(size) !== 0 || isZeroSize) return size
    return shape?.[d] ?? operation.anySize()
  })
  const free = copied.findIndex((size) => knownSize(size) === -1)
  if (free < 0) return copied
  const others = productOf(copied.filter((_, d) => d !== free))
  const total = shape === undefined ? undefined : productOf(shape)
  const rest = others === undefined || total === undefined ? undefined : dividedBy(total, others)
  if (rest === undefined && items !== undefined && others?.isOfItems !== true) {
    throw operation.mixing('merges the items with other axes')
  }
  return copied.map((size, d) => (d === free ? (rest ?? operation.anySize()) : size))
}

function reshaped(
  operation: Operation,
  input: TracedTensor,
  target: readonly Size[],
): TracedTensor {
  const { items, shape } = input
  if (items === undefined) {
    if (target.some(({ isOfItems }) => isOfItems))
      throw operation.mixing('computes with the number of items')
    return fixedTensor(target)
  }
  const axes = target.flatMap(({ isOfItems }, d) => (isOfItems ? [d] : []))
  const before = beforeItems(shape!, items)
  const [axis] = axes
  if (axis === undefined || axes.length > 1)
    throw operation.mixing('merges the items with other axes')
  const outside = productOf(target.slice(0, axis))
  const outer = outside === undefined ? undefined : dividedBy(before, outside)
  const others = outer === undefined ? undefined : times(outer, ITEMS)
  if (others === undefined || dividedBy(target[axis]!, others) === undefined) {
    throw operation.mixing('merges the items with other axes')
  }
  return itemTensor(target, { axis, outer: outer! })
}

/** `Expand`: a target made of the number of items repeats a tensor for each. */
export const expand: Rule = (operation) => {
  const [input, target] = [operation.input(0), operation.input(1)]
  if (target.items !== undefined) throw operation.mixing('takes a parameter from the items')
  if (target.numbers === undefined) {
    if (input.items === undefined) return [fixedTensor()]
    throw operation.mixing('takes a shape that is not known')
  }
  if (input.numbers?.length === 1 && target.numbers.every((size) => !size.isOfItems)) {
    const count = knownSize(productOf(target.numbers) ?? ITEMS)
    const numbers =
      count !== undefined && count <= 64
        ? Array.from({ length: count }, () => input.numbers![0]!)
        : undefined
    return [fixedTensor(target.numbers, numbers)]
  }
  if (input.numbers?.some(({ isOfItems }) => isOfItems)) {
    throw operation.mixing('computes with the number of items')
  }
  return [broadcastOf(operation, [input, uniform(target.numbers, input)])]
}

/** A tensor of this shape that is the same for each item. */
function uniform(shape: readonly Size[], like?: TracedTensor): TracedTensor {
  const axis = shape.findIndex(({ isOfItems }) => isOfItems)
  if (axis < 0) return fixedTensor(shape)
  const own = like?.shape === undefined ? -1 : axis - (shape.length - like.shape.length)
  const outer = like?.items?.axis === own ? like.items!.outer : ONE
  return itemTensor(shape, { axis, outer })
}

/** `ConstantOfShape`. */
export const constantOfShape: Rule = (operation) => {
  const target = operation.input(0)
  if (target.items !== undefined) throw operation.mixing('takes a parameter from the items')
  const { numbers } = target
  if (numbers === undefined) return [fixedTensor()]
  if (numbers.filter(({ isOfItems }) => isOfItems).length > 1) {
    throw operation.mixing('has the items along two axes')
  }
  const count = knownSize(productOf(numbers) ?? ITEMS)
  const value = operation.node.attributes.get('value')?.constant?.values?.[0] ?? 0
  const elements =
    count !== undefined && count <= 64
      ? Array.from({ length: count }, () => sizeOf(value))
      : undefined
  return [{ ...uniform(numbers), numbers: elements }]
}

/** `Range`: from 0 in steps of 1 it is as long as its end. */
export const range: Rule = (operation) => {
  operation.requireNoCounts()
  const [start, end, step] = [0, 1, 2].map((i) => operation.fixed(i)?.numbers?.[0])
  const isCount = knownSize(start ?? ITEMS) === 0 && knownSize(step ?? ITEMS) === 1
  return [fixedTensor([isCount && end !== undefined ? end : operation.anySize()])]
}

/** `Tile`: a tensor of one place along an axis may be repeated for each item. */
export const tile: Rule = (operation) => {
  const [input, repeats] = [operation.input(0), operation.input(1)]
  if (repeats.items !== undefined || repeats.numbers === undefined) {
    if (input.items === undefined && repeats.items === undefined) return [fixedTensor()]
    throw operation.mixing('takes repeats that are not known')
  }
  const shape = operation.shape(0)
  let items: ItemAxis | undefined = input.items
  const tiled = shape.map((size, d) => {
    const often = repeats.numbers![d]!
    if (d === input.items?.axis && !isSameSize(often, ONE)) throw operation.over(d)
    if (often.isOfItems) {
      if (items !== undefined) throw operation.mixing('has the items along two axes')
      if (!isSameSize(often, ITEMS)) throw operation.over(d)
      items = { axis: d, outer: ONE }
    }
    const product = times(size, often)
    if (product === undefined) throw operation.over(d)
    return product
  })
  return [withItems(tiled, items)]
}

/** `NonZero`, whose length depends on all elements. */
export const nonZero: Rule = (operation) => {
  if (operation.isOfItems) throw operation.over(operation.input(0).items?.axis ?? 0)
  const rank = operation.input(0).shape?.length
  return [fixedTensor(rank === undefined ? undefined : [sizeOf(rank), operation.anySize()])]
}
