import { withItems } from './axis-rules.ts'
import type { Operation, Rule } from './operation.ts'
import { isSameSize, knownSize, ONE, productOf, type Size, sizeOf, times } from './size.ts'
import { beforeItems, fixedTensor, isFixed, itemTensor, type TracedTensor } from './traced-value.ts'

/** `Gather`: rows of a table by the numbers in each item, or places of each item by fixed numbers. */
export const gather: Rule = (operation) => {
  const [data, places] = [operation.input(0), operation.input(1)]
  if (data.numbers !== undefined && places.numbers !== undefined) {
    const picked = pickedNumbers(data.numbers, places.numbers)
    if (picked !== undefined) return [fixedTensor(places.shape, picked)]
  }
  operation.requireNoCounts()
  const [shape, indexes] = [operation.shape(0), operation.shape(1)]
  const axis = operation.axis(operation.number('axis', 0), shape.length)
  const whole = [...shape.slice(0, axis), ...indexes, ...shape.slice(axis + 1)]
  if (data.items === undefined)
    return [withItems(whole, places.items, axis + (places.items?.axis ?? 0))]
  if (places.items !== undefined) throw operation.mixing('picks items by the items')
  if (data.items.axis === axis) throw operation.over(axis)
  const moved = data.items.axis < axis ? 0 : indexes.length - 1
  return [withItems(whole, data.items, data.items.axis + moved)]
}

function pickedNumbers(numbers: readonly Size[], places: readonly Size[]): Size[] | undefined {
  const picked = places.map((place) => numbers.at(knownSize(place) ?? Number.MAX_SAFE_INTEGER))
  return picked.every((number) => number !== undefined) ? picked : undefined
}

/** `GatherElements`: both tensors have the items along the same axis, and it picks along another one. */
export const gatherElements: Rule = (operation) => {
  operation.requireNoCounts()
  return [sameItems(operation, [0, 1])]
}

/** `ScatterElements` into each item from the same item. */
export const scatterElements: Rule = (operation) => {
  operation.requireNoCounts()
  return [{ ...sameItems(operation, [0, 1, 2]), shape: operation.shape(0) }]
}

function sameItems(operation: Operation, inputs: readonly number[]): TracedTensor {
  const tensors = inputs.map((i) => operation.input(i))
  const last = operation.shape(inputs.length === 2 ? 1 : 0)
  const { items } = tensors[0]!
  if (items === undefined && tensors.every(isFixed)) return fixedTensor(last)
  const axis = operation.axis(operation.number('axis', 0), last.length)
  const isAlike = tensors.every(
    (one, i) =>
      items !== undefined &&
      one.items?.axis === items.axis &&
      isSameSize(one.items.outer, items.outer) &&
      isSameSize(operation.shape(inputs[i]!)[items.axis]!, tensors[0]!.shape![items.axis]!),
  )
  if (!isAlike) throw operation.mixing('picks places of another axis than that of the items')
  if (items!.axis === axis) throw operation.over(axis)
  return itemTensor(last, items!)
}

/** `GatherND` of a table by the numbers in each item, or within each item of a batch axis. */
export const gatherNd: Rule = (operation) => {
  operation.requireNoCounts()
  const [data, places] = [operation.input(0), operation.input(1)]
  const [shape, indexes] = [operation.shape(0), operation.shape(1)]
  const depth = knownSize(indexes.at(-1) ?? ONE)
  if (depth === undefined) throw operation.mixing('has a depth that is not known')
  const batched = operation.number('batch_dims', 0)
  const whole = [...indexes.slice(0, -1), ...shape.slice(batched + depth)]
  if (places.items?.axis === indexes.length - 1) throw operation.over(places.items.axis)
  if (data.items === undefined) {
    if (places.items !== undefined && places.items.axis < batched) {
      throw operation.mixing('picks places of another axis than that of the items')
    }
    return [withItems(whole, places.items)]
  }
  const isWithin =
    data.items.axis < batched &&
    places.items?.axis === data.items.axis &&
    isSameSize(places.items.outer, data.items.outer)
  if (!isWithin) throw operation.mixing(`over axis ${data.items.axis}`)
  return [withItems(whole, data.items)]
}

/** `OneHot`: the numbers of each item as an axis of their own. */
export const oneHot: Rule = (operation) => {
  operation.requireNoCounts()
  operation.fixed(1)
  operation.fixed(2)
  const shape = operation.shape(0)
  const { items } = operation.input(0)
  const axis = operation.axis(operation.number('axis', -1), shape.length + 1)
  const depth = operation.inputs[1]?.numbers?.[0] ?? operation.anySize()
  const whole = [...shape.slice(0, axis), depth, ...shape.slice(axis)]
  return [withItems(whole, items, (items?.axis ?? 0) + ((items?.axis ?? 0) < axis ? 0 : 1))]
}

/** `ArrayFeatureExtractor`: places along the last axis, in one row. */
export const featureExtractor: Rule = (operation) => {
  operation.requireNoCounts()
  const [data, places] = [operation.input(0), operation.input(1)]
  const [shape, indexes] = [operation.shape(0), operation.shape(1)]
  const count = productOf(indexes)
  if (count === undefined) throw operation.mixing('has places that are not known')
  if (places.items === undefined) {
    if (data.items !== undefined && data.items.axis >= shape.length - 1) {
      throw operation.over(data.items.axis)
    }
    const rows = shape.length === 1 ? [sizeOf(1)] : shape.slice(0, -1)
    return [withItems([...rows, count], data.items)]
  }
  const isRow =
    data.items === undefined && shape.slice(0, -1).every((size) => knownSize(size) === 1)
  if (!isRow) throw operation.mixing('picks items by the items')
  const outer = beforeItems(indexes, places.items)
  return [itemTensor([times(ONE, ONE)!, count], { axis: 1, outer })]
}
