import { SEGMENT_RATINGS } from '../../gpu/batches.ts'
import { type GraphValue, OnnxGraphBuilder } from '../../gpu/onnx-graph.ts'
import { eliminate, unitRow } from './elimination.ts'

/** Parameters of the graphs of a chain. */
export interface BmfGraphShape {
  /** Unknowns d of a row: the factors, then the bias. */
  readonly unknowns: number
  /** Floats of a row on the device, `deviceWidth(unknowns)`. */
  readonly width: number
}

/**
 * Floats of a row of d unknowns on the device: the design row z, the bias with its sign changed, and zeros up
 * to a multiple of four, with which matrix products load four floats at once.
 */
export function deviceWidth(unknowns: number): number {
  return (unknowns + 4) & ~3
}

/**
 * The sums over the ratings of each of B rows, padded to L ratings, of [z, y] [z, y]^T: [B, width, width]. A design
 * row is [factors, 1, -bias, zeros]: a gathered row has z and, with the rating added, the target y in one, and a
 * padded rating gathers a row of zeros. In a weighted row the 1 has become the root of the weight, which the rating
 * is multiplied with. Long rows are summed in segments (`isSegmented` of `batches.ts`).
 */
export function bmfProductsGraph(shape: BmfGraphShape, isSegmented: boolean): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const { unknowns, width } = shape
  const others = graph.input('others', ['n', width])
  const gathered = graph.add('Gather', [others, graph.input('indexes', ['B', 'L'], 'int32')])
  const ratings = graph.input('ratings', ['B', 'L', 1])
  const roots = graph.slice(gathered, 2, unknowns - 1, unknowns)
  const weighted = graph.add('Mul', [ratings, roots])
  const targets = graph.add('Mul', [weighted, unitRow(graph, width, unknowns)])
  const rated = graph.add('Add', [gathered, targets])
  const products = isSegmented
    ? segmentProducts(graph, rated, width)
    : graph.add('MatMul', [graph.transpose(rated, [0, 2, 1]), rated])
  graph.output('products', products, { shape: ['B', width, width] })
  return graph.build()
}

function segmentProducts(graph: OnnxGraphBuilder, rated: GraphValue, width: number): GraphValue {
  const segments = graph.reshape(rated, [0, -1, SEGMENT_RATINGS, width])
  const products = graph.add('MatMul', [graph.transpose(segments, [0, 1, 3, 2]), segments])
  return graph.add('ReduceSum', [products, graph.integers(1)], { keepdims: 0 })
}

/** Multiplies design rows, `others` of the joining graph, with the roots of their weights. */
export function bmfWeighGraph({ width }: BmfGraphShape): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const roots = graph.input('roots', ['n', 1])
  const weighted = graph.add('Mul', [graph.input('others', ['n', width]), roots])
  graph.output('weighted', weighted, { shape: ['n', width] })
  return graph.build()
}

/** Joins the products of the batches that are drawn together. */
export function bmfCollectGraph({ width }: BmfGraphShape, batches: number): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const parts = Array.from({ length: batches }, (_, part) =>
    graph.input(`products${part}`, [`B${part}`, width, width]),
  )
  graph.output('products', graph.add('Concat', parts, { axis: 0 }), { shape: ['B', width, width] })
  return graph.build()
}

/**
 * Draws B rows from the distributions of `assembly/draw-row.as.ts`, given the products of their ratings. `prior` has
 * the precision in columns 0 to d - 1, the shift in column d; `noise` is the noise's standard deviation; `weights`
 * are those of all ratings of a row; `weight` is one over the number of kept sweeps, 0 during burn-in.
 *
 * The outputs are the new design rows, their products, each row's squared error, and the running means of the centers.
 */
export function bmfDrawGraph(shape: BmfGraphShape): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const { unknowns: d, width } = shape
  const unweighted = graph.input('products', ['B', width, width])
  const products = graph.add('Mul', [unweighted, graph.input('weights', ['B', 1, 1])])
  const prior = graph.input('prior', [1, d, width])
  const systems = graph.add('Add', [graph.slice(products, 1, 0, d), prior])
  const { center, draw } = drawn(graph, systems, shape)
  const design = designOf(graph, draw, shape)
  graph.output('design', design, { shape: ['B', width] })
  graph.output('sums', productsOf(graph, design, width), { shape: [1, width, width] })
  const errors = squaredErrors(graph, products, { draw, shape })
  graph.output('errors', errors, { shape: ['B', 1] })
  const weight = graph.input('weight', [1, 1])
  keepMeans(graph, graph.add('Squeeze', [center, graph.integers(2)]), { weight, width })
  return graph.build()
}

/** Center P^-1 b and draw P^-1 b + noise P^-1/2 e of each row: [B, width, 1]. */
function drawn(
  graph: OnnxGraphBuilder,
  systems: GraphValue,
  shape: BmfGraphShape,
): { center: GraphValue; draw: GraphValue } {
  const normals = graph.input('normals', ['B', shape.unknowns, 1])
  const noise = graph.input('noise', [1, 1, 1])
  const { inverse, pivots, forward } = eliminate(graph, systems, shape)
  const solved = graph.add('Div', [forward, pivots])
  const scaled = graph.add('Div', [graph.add('Mul', [normals, noise]), graph.add('Sqrt', [pivots])])
  const both = graph.add('Concat', [solved, graph.add('Add', [solved, scaled])], { axis: 2 })
  const [center, draw] = graph.split(graph.add('MatMul', [inverse, both]), 2, [1, 1])
  return { center: center as GraphValue, draw: draw as GraphValue }
}

/** The weighted sum of (y - z x)^2 of each row at the draw: [B, 1]. */
function squaredErrors(
  graph: OnnxGraphBuilder,
  products: GraphValue,
  { draw, shape }: { readonly draw: GraphValue; readonly shape: BmfGraphShape },
): GraphValue {
  const { unknowns, width } = shape
  const target = graph.constant(
    [1, width, 1],
    Array.from({ length: width }, (_, i) => (i === unknowns ? 1 : 0)),
  )
  const misses = graph.add('Sub', [target, draw])
  const product = graph.add('Mul', [misses, graph.add('MatMul', [products, misses])])
  return graph.add('ReduceSum', [product, graph.integers(1)], { keepdims: 0 })
}

/** Design rows of draws: [B, width, 1] to [B, width]. */
function designOf(
  graph: OnnxGraphBuilder,
  draw: GraphValue,
  { unknowns, width }: BmfGraphShape,
): GraphValue {
  const bias = unknowns - 1
  const places = new Float32Array(width * width)
  for (let i = 0; i < bias; i++) places[i * width + i] = 1
  places[bias * width + unknowns] = -1
  const row = graph.add('Squeeze', [draw, graph.integers(2)])
  const placed = graph.add('MatMul', [row, graph.constant([width, width], places)])
  const one = Array.from({ length: width }, (_, i) => (i === bias ? 1 : 0))
  return graph.add('Add', [placed, graph.constant([1, width], one)])
}

/**
 * The sum of the products of rows, [B, width] to [1, width, width], in segments as those of long rows. The input
 * `padding` has rows of zeros that complete the last segment.
 */
function productsOf(graph: OnnxGraphBuilder, rows: GraphValue, width: number): GraphValue {
  const padding = graph.input('padding', ['R', width])
  const padded = graph.add('Concat', [rows, padding], { axis: 0 })
  const segments = graph.reshape(padded, [-1, SEGMENT_RATINGS, width])
  const products = graph.add('MatMul', [graph.transpose(segments, [0, 2, 1]), segments])
  return graph.add('ReduceSum', [products, graph.integers(0)])
}

/** Rows of `padding` for B rows, at least one. */
export function paddingRows(rows: number): number {
  return SEGMENT_RATINGS - (rows % SEGMENT_RATINGS)
}

/** Width of a row and weight of the newest sweep in a running mean. */
interface RunningMean {
  readonly width: number
  readonly weight: GraphValue
}

function keepMeans(
  graph: OnnxGraphBuilder,
  centers: GraphValue,
  { weight, width }: RunningMean,
): void {
  const before = graph.input('meansBefore', ['B', width])
  const step = graph.add('Mul', [graph.add('Sub', [centers, before]), weight])
  graph.output('means', graph.add('Add', [before, step]), { shape: ['B', width] })
}

/** Copies the starting rows of a group to the device; the outputs are those of the draw graph. */
export function bmfStartGraph({ width }: BmfGraphShape): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const rows = graph.input('rows', ['B', width])
  graph.output('design', rows, { shape: ['B', width] })
  graph.output('sums', productsOf(graph, rows, width), { shape: [1, width, width] })
  return graph.build()
}

/** Copies the ratings of a batch to the device. */
export function bmfUploadGraph(): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const indexes = graph.input('indexes', ['B', 'L'], 'int32')
  graph.output('indexesThere', indexes, { shape: ['B', 'L'], type: 'int32' })
  const ratings = graph.input('ratings', ['B', 'L', 1])
  graph.output('ratingsThere', ratings, { shape: ['B', 'L', 1] })
  return graph.build()
}

/**
 * Joins the groups of a side: `others` are the design rows, then the row of zeros that padded ratings gather;
 * `allSums` are the products of each group, [groups, width, width], and `allErrors` the errors.
 */
export function bmfJoinGraph({ width }: BmfGraphShape, groups: number): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const parts = (name: string, shape: (part: number) => (number | string)[]): GraphValue[] =>
    Array.from({ length: groups }, (_, part) => graph.input(`${name}${part}`, shape(part)))
  const rows = parts('design', (part) => [`B${part}`, width])
  const zeros = graph.constant([1, width], new Float32Array(width))
  const sums = graph.add(
    'Concat',
    parts('sums', () => [1, width, width]),
    { axis: 0 },
  )
  const others = graph.add('Concat', [...rows, zeros], { axis: 0 })
  graph.output('others', others, { shape: ['n', width] })
  graph.output('allSums', sums, { shape: [groups, width, width] })
  // The binding finds the place of an output by its number among the requested ones; this one is last.
  const errors = graph.add(
    'Concat',
    parts('errors', (part) => [`B${part}`, 1]),
    { axis: 0 },
  )
  graph.output('allErrors', errors, { shape: ['n', 1] })
  return graph.build()
}

/** Joins rows of the groups of a side, to copy them back. */
export function bmfReadGraph({ width }: BmfGraphShape, groups: number): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const parts = Array.from({ length: groups }, (_, part) =>
    graph.input(`rows${part}`, [`B${part}`, width]),
  )
  graph.output('rows', graph.add('Concat', parts, { axis: 0 }), { shape: ['n', width] })
  return graph.build()
}
