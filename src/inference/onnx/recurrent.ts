import { withItems } from './axis-rules.ts'
import type { Rule } from './operation.ts'
import { isSameSize, knownSize, sizeOf } from './size.ts'

/** `LSTM`, `GRU` and `RNN`: steps follow one another along one axis, and the items are along the other. */
export const recurrent: Rule = (operation) => {
  operation.requireNoCounts()
  const shape = operation.shape(0)
  const { items } = operation.input(0)
  const isItemsFirst = operation.number('layout', 0) !== 0
  const axis = isItemsFirst ? 0 : 1
  if (items !== undefined && items.axis !== axis) throw operation.over(items.axis)
  // Weights, biases and peepholes are those of the model; lengths and first states are those of the items.
  for (const i of [1, 2, 3, 7]) operation.fixed(i)
  for (const i of [4, 5, 6]) {
    const one = operation.inputs[i]
    if (one === undefined || items === undefined) {
      operation.fixed(i)
      continue
    }
    const wanted = i === 4 || isItemsFirst ? 0 : 1
    const isAlike =
      one.items?.axis === wanted &&
      isSameSize(one.items.outer, items.outer) &&
      isSameSize(one.shape![wanted]!, shape[axis]!)
    if (!isAlike)
      throw operation.mixing('has first states or lengths that are not those of the items')
  }
  const directions = operation.text('direction', 'forward') === 'bidirectional' ? 2 : 1
  const hidden = operation.number('hidden_size', 0) || knownSize(operation.shape(2).at(-1)!)
  const width = hidden === undefined ? operation.anySize() : sizeOf(hidden)
  const [steps, count] = [shape[1 - axis]!, shape[axis]!]
  const each = sizeOf(directions)
  return operation.node.outputs.map((_, i) => {
    if (i > 0) {
      return isItemsFirst
        ? withItems([count, each, width], items, 0)
        : withItems([each, count, width], items, 1)
    }
    return isItemsFirst
      ? withItems([count, steps, each, width], items, 0)
      : withItems([steps, each, count, width], items, 2)
  })
}

/** `ReverseSequence`: the steps of each item in the other order. */
export const reverseSequence: Rule = (operation) => {
  operation.requireNoCounts()
  const shape = operation.shape(0)
  const { items } = operation.input(0)
  const lengths = operation.inputs[1]?.items
  const axis = operation.number('batch_axis', 1)
  if (items === undefined) {
    operation.fixed(1)
    return [withItems(shape, undefined)]
  }
  const isAlike =
    items.axis === axis && lengths?.axis === 0 && isSameSize(lengths.outer, items.outer)
  if (!isAlike) throw operation.over(items.axis)
  return [withItems(shape, items)]
}
