import { ITEMS, isSameSize, productOf, type Size, times } from './size.ts'

/** Where the items of a tensor are. */
export interface ItemAxis {
  readonly axis: number
  /** What the axis holds before the items, slowest first: 1 unless dimensions were merged into it. */
  readonly outer: Size
}

/** Tensor of a graph as far as it is known before a run. */
export interface TracedTensor {
  /** Undefined where the rank is not known; a tensor with items has a shape. */
  readonly shape: readonly Size[] | undefined
  /** Slice i along the axis depends on item i only. Without it, the tensor does not depend on the items. */
  readonly items: ItemAxis | undefined
  /** Its elements, where the graph computes sizes; they may be made of the number of items. */
  readonly numbers: readonly Size[] | undefined
}

/** Reason why an operation cannot be shown to keep items apart. The walk of the graph catches it. */
export class Mixing extends Error {}

/** A value of the graph: a tensor, or why items may have been mixed in it. */
export type TracedValue = TracedTensor | Mixing

/** A tensor that does not depend on the items. */
export function fixedTensor(shape?: readonly Size[], numbers?: readonly Size[]): TracedTensor {
  return { shape, items: undefined, numbers }
}

/** A tensor whose items are along one axis. */
export function itemTensor(shape: readonly Size[], items: ItemAxis): TracedTensor {
  return { shape, items, numbers: undefined }
}

/** Whether the elements are made of the number of items: as a size they may be, as a number they may not. */
export const countsItems = ({ numbers }: TracedTensor): boolean =>
  numbers?.some(({ isOfItems }) => isOfItems) ?? false

/** Whether nothing in the tensor depends on a batch. */
export const isFixed = (tensor: TracedTensor): boolean =>
  tensor.items === undefined && !countsItems(tensor)

/** The shape of a tensor with items, or of another one whose shape is known. Throws Mixing. */
export function shapeOf({ shape }: TracedTensor, what: string): readonly Size[] {
  if (shape !== undefined) return shape
  throw new Mixing(`${what} has a shape that is not known`)
}

/** What one item has in the axis of the items, fastest last. */
export function innerOf(shape: readonly Size[], { axis, outer }: ItemAxis): Size {
  const { factor, names } = shape[axis]!
  const left = [...names]
  for (const name of outer.names) left.splice(left.indexOf(name), 1)
  return { isOfItems: false, factor: factor / outer.factor, names: left }
}

/** The product of the sizes before the items of the whole tensor, slowest first. */
export function beforeItems(shape: readonly Size[], { axis, outer }: ItemAxis): Size {
  return times(productOf(shape.slice(0, axis))!, outer)!
}

/** Whether two tensors have their items in the same place of an axis of the same size. */
export function haveSameItems(
  a: { readonly size: Size; readonly outer: Size },
  b: { readonly size: Size; readonly outer: Size },
): boolean {
  return isSameSize(a.size, b.size) && isSameSize(a.outer, b.outer)
}

/** Whether the axis is the items and nothing else. */
export const isPlainAxis = (shape: readonly Size[], { axis }: ItemAxis): boolean =>
  isSameSize(shape[axis]!, ITEMS)
