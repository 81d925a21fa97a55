import { withItems } from './axis-rules.ts'
import type { Operation, Rule } from './operation.ts'
import { ITEMS, isSameSize, knownSize, ONE, type Size, sizeOf } from './size.ts'
import type { TracedTensor } from './traced-value.ts'

/** Convolution: `[items, channels, ...]`; `weights` is the input with the kernels. */
export const convolution =
  (weights: number, isTransposed = false): Rule =>
  (operation) => {
    requireItemsFirst(operation)
    const kernels = operation.shape(weights)
    const group = operation.number('group', 1)
    const own = kernels[isTransposed ? 1 : 0]!
    const count = knownSize(own)
    const channels =
      count === undefined ? operation.anySize() : sizeOf(isTransposed ? count * group : count)
    const windows = isTransposed ? undefined : kernels.slice(2).map(knownSize)
    return [overPlaces(operation, channels, windows)]
  }

/** Pooling within each channel. */
export const pooling: Rule = (operation) => {
  requireItemsFirst(operation)
  // The places of the largest elements are counted over the whole tensor, so they depend on the items before.
  if ((operation.node.outputs[1] ?? '') !== '')
    throw operation.mixing('gives places in the whole batch')
  const isPlain = operation.number('ceil_mode', 0) === 0
  const windows = isPlain ? operation.numbers('kernel_shape') : undefined
  return [overPlaces(operation, operation.shape(0)[1]!, windows)]
}

/** Pooling of each channel as a whole. */
export const globalPooling: Rule = (operation) => {
  requireItemsFirst(operation)
  const [items, channels, ...places] = operation.shape(0)
  return [withItems([items!, channels!, ...places.map(() => ONE)], operation.input(0).items)]
}

/** `DepthToSpace`, `SpaceToDepth` and others that change the sizes of each picture. */
export const rearranged: Rule = (operation) => {
  requireItemsFirst(operation)
  const [items, ...others] = operation.shape(0)
  const sizes = others.map(() => operation.anySize())
  return [withItems([items!, ...sizes], operation.input(0).items)]
}

/** `GridSample`: a grid for each picture. */
export const gridSample: Rule = (operation) => {
  operation.requireNoCounts()
  const [picture, grid] = [operation.input(0), operation.input(1)]
  const [items, channels] = operation.shape(0)
  const isAlike =
    picture.items?.axis === 0 &&
    grid.items?.axis === 0 &&
    isSameSize(picture.items.outer, grid.items.outer) &&
    isSameSize(items!, operation.shape(1)[0]!)
  if (!isAlike) throw operation.mixing('needs a grid of each item')
  const places = operation.shape(1).slice(1, -1)
  return [withItems([items!, channels!, ...places], picture.items)]
}

/** `Resize` and `Upsample` of each picture. */
export const resize: Rule = (operation) => {
  operation.requireNoCountsBut(3)
  const shape = operation.shape(0)
  const { items } = operation.input(0)
  const mode = operation.text('coordinate_transformation_mode', '')
  if (mode === 'tf_crop_and_resize') throw operation.mixing('crops')
  const given = operation.numbers('axes')
  const axes = given?.map((axis) => operation.axis(axis, shape.length)) ?? shape.map((_, d) => d)
  const scalesAt = operation.name === 'Upsample' || operation.opset < 11 ? 1 : 2
  const scales = operation.inputs[scalesAt]?.numbers ?? operation.numbers('scales')?.map(sizeOf)
  const sizes = operation.opset < 11 ? undefined : operation.inputs[3]?.numbers
  const resized = shape.map((size, d) => {
    const i = axes.indexOf(d)
    if (i < 0) return size
    if (d === items?.axis) {
      const isKept =
        sizes === undefined
          ? scales?.[i] !== undefined && knownSize(scales[i]) === 1
          : sizes[i] !== undefined && isSameSize(sizes[i], size)
      if (!isKept) throw operation.over(d)
      return size
    }
    const fixed = sizes?.[i]
    if (fixed !== undefined) return fixed
    const [whole, scale] = [knownSize(size), knownSize(scales?.[i] ?? ITEMS)]
    return whole === undefined || scale === undefined
      ? operation.anySize()
      : sizeOf(Math.floor(whole * scale))
  })
  return [withItems(resized, items)]
}

function requireItemsFirst(operation: Operation): void {
  operation.requireNoCounts()
  for (let i = 1; i < operation.inputs.length; i++) operation.fixed(i)
  const { items } = operation.input(0)
  operation.shape(0)
  if (items !== undefined && items.axis !== 0) throw operation.over(items.axis)
}

/** `[items, channels, places...]` after windows have passed over the places. */
function overPlaces(
  operation: Operation,
  channels: Size,
  windows: readonly (number | undefined)[] | undefined,
): TracedTensor {
  const [items, , ...places] = operation.shape(0)
  const sizes = places.map((place, d) =>
    placesAfter(operation, d, [knownSize(place), windows?.[d]]),
  )
  return withItems([items!, channels, ...sizes], operation.input(0).items)
}

function placesAfter(
  operation: Operation,
  d: number,
  [whole, window]: readonly [number | undefined, number | undefined],
): Size {
  if (whole === undefined || window === undefined) return operation.anySize()
  const stride = operation.numbers('strides')?.[d] ?? 1
  const reach = (window - 1) * (operation.numbers('dilations')?.[d] ?? 1) + 1
  const auto = operation.text('auto_pad', 'NOTSET')
  if (auto.startsWith('SAME')) return sizeOf(Math.ceil(whole / stride))
  const pads = operation.numbers('pads') ?? []
  const half = pads.length / 2
  const padding = auto === 'VALID' || pads.length === 0 ? 0 : pads[d]! + pads[half + d]!
  return sizeOf(Math.floor((whole + padding - reach) / stride) + 1)
}
