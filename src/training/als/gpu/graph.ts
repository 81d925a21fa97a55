import { SEGMENT_RATINGS } from '../../gpu/batches.ts'
import { type GraphValue, OnnxGraphBuilder } from '../../gpu/onnx-graph.ts'

/** Parameters of the graphs of a training run. */
export interface AlsGraphShape {
  /** Unknowns of a row: the factors, and with biases the bias. */
  readonly unknowns: number
  /** The last unknown is the row's bias. */
  readonly biased: boolean
  /** Implicit feedback, which needs the Gram matrix of the other side. */
  readonly isImplicit: boolean
  /** Rows have many ratings: a multiple of `SEGMENT_RATINGS`. */
  readonly isSegmented: boolean
  readonly cgSteps: number
  readonly regularization: number
  readonly biasRegularization: number
}

/** Makes 0 / 0 a 0 for a row that has converged exactly or has no ratings. */
const TINY = 1e-30

/**
 * Solves a batch of B rows, each padded to L ratings, by `cgSteps` unrolled steps of conjugate
 * gradient from their current values; the same steps as `assembly/als-row.as.ts`. A row minimises
 *
 *   sum over k of weights_k (targets_k - bias_k - z_k . x)^2 + scale x^T diag(penalty) x (+ x^T G x)
 *
 * with z_k = factors[indexes_k]; a padded rating has weight 0. The outputs are the rows and, for each
 * row, its part of the objective (which falls by alpha r.r per step) and of the penalty.
 */
export function alsSolveGraph(shape: AlsGraphShape): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const d = shape.unknowns
  const factors = graph.input('factors', ['n', d])
  const indexes = graph.input('indexes', ['B', 'L'], 'int32')
  const weights = graph.input('weights', ['B', 'L'])
  const given = graph.input('targets', ['B', 'L'])
  const scale = graph.input('scale', ['B', 1])
  const start = graph.input('start', ['B', d])
  const gram = shape.isImplicit ? graph.input('gram', [d, d]) : undefined
  const targets = shape.biased
    ? graph.add('Sub', [given, graph.add('Gather', [graph.input('bias', ['n']), indexes])])
    : given
  const algebra = new BatchAlgebra(graph, graph.add('Gather', [factors, indexes]), shape)
  const penalties = graph.add('Mul', [scale, graph.constant([1, d], penaltyRow(shape))])
  const system = { algebra, weights, penalties, gram, targets, start }
  const { rows, objective } = conjugateGradient(graph, system, shape.cgSteps)
  const penalty = algebra.inner(graph.add('Mul', [penalties, rows]), rows)
  graph.output('rows', rows, { shape: ['B', d] })
  graph.output('errors', graph.add('Concat', [objective, penalty], { axis: 1 }), {
    shape: ['B', 2],
  })
  return graph.build()
}

function penaltyRow({ unknowns, biased, regularization, biasRegularization }: AlsGraphShape) {
  const row = new Float32Array(unknowns).fill(regularization)
  if (biased) row[unknowns - 1] = biasRegularization
  return row
}

/** The systems of a batch. */
interface BatchSystem {
  readonly algebra: BatchAlgebra
  readonly weights: GraphValue
  readonly penalties: GraphValue
  readonly gram: GraphValue | undefined
  readonly targets: GraphValue
  readonly start: GraphValue
}

function conjugateGradient(
  graph: OnnxGraphBuilder,
  { algebra, weights, penalties, gram, targets, start }: BatchSystem,
  steps: number,
): { rows: GraphValue; objective: GraphValue } {
  const binary = (operation: string) => (a: GraphValue, b: GraphValue) =>
    graph.add(operation, [a, b])
  const [add, sub, mul, div] = [binary('Add'), binary('Sub'), binary('Mul'), binary('Div')]
  const tiny = graph.constant([1, 1], [TINY])
  /** The part of A v without ratings: the penalties and, with implicit feedback, all pairs. */
  const fixedPart = (v: GraphValue): GraphValue => {
    const penalty = mul(penalties, v)
    return gram === undefined ? penalty : add(penalty, graph.add('MatMul', [v, gram]))
  }
  let x = start
  const misses = sub(targets, algebra.scores(x))
  const weighted = mul(weights, misses)
  const fixed = fixedPart(x)
  let objective = add(algebra.inner(weighted, misses), algebra.inner(fixed, x))
  let r = sub(algebra.combine(weighted), fixed)
  let p = r
  let rr = algebra.inner(r, r)
  for (let step = 1; step <= steps; step++) {
    const ap = add(algebra.combine(mul(weights, algebra.scores(p))), fixedPart(p))
    const alpha = div(rr, add(algebra.inner(p, ap), tiny))
    x = add(x, mul(alpha, p))
    objective = sub(objective, mul(alpha, rr))
    if (step === steps) break
    r = sub(r, mul(alpha, ap))
    const next = algebra.inner(r, r)
    p = add(r, mul(div(next, add(rr, tiny)), p))
    rr = next
  }
  return { rows: x, objective }
}

/** Products of the design rows of a batch, [B, L, d], with vectors of its rows. */
class BatchAlgebra {
  private readonly graph: OnnxGraphBuilder
  private readonly design: GraphValue
  private readonly axes: readonly [GraphValue, GraphValue]
  private readonly shape: Pick<AlsGraphShape, 'unknowns' | 'isSegmented'>

  constructor(
    graph: OnnxGraphBuilder,
    design: GraphValue,
    shape: Pick<AlsGraphShape, 'unknowns' | 'isSegmented'>,
  ) {
    this.graph = graph
    this.design = design
    this.shape = shape
    this.axes = [graph.integers(1), graph.integers(2)]
  }

  /** z_k . v for every rating: [B, d] to [B, L]. */
  scores(v: GraphValue): GraphValue {
    const column = this.graph.add('Unsqueeze', [v, this.axes[1]])
    const product = this.graph.add('MatMul', [this.design, column])
    return this.graph.add('Squeeze', [product, this.axes[1]])
  }

  /** The sum of c_k z_k: [B, L] to [B, d]. */
  combine(c: GraphValue): GraphValue {
    if (this.shape.isSegmented) return this.combineSegments(c)
    const row = this.graph.add('Unsqueeze', [c, this.axes[0]])
    const product = this.graph.add('MatMul', [row, this.design])
    return this.graph.add('Squeeze', [product, this.axes[0]])
  }

  /** The same by segments of S ratings, [B, L / S, 1, S] times [B, L / S, S, d], which are then added. */
  private combineSegments(c: GraphValue): GraphValue {
    const { graph, design } = this
    const rows = graph.reshape(c, [0, -1, 1, SEGMENT_RATINGS])
    const segments = graph.reshape(design, [0, -1, SEGMENT_RATINGS, this.shape.unknowns])
    const products = graph.add('MatMul', [rows, segments])
    return graph.add('ReduceSum', [products, graph.integers(1, 2)], { keepdims: 0 })
  }

  /** Inner product of each row: [B, m] twice to [B, 1]. */
  inner(a: GraphValue, b: GraphValue): GraphValue {
    return this.graph.add('ReduceSum', [this.graph.add('Mul', [a, b]), this.axes[0]])
  }
}

/**
 * Joins the batches of a side. The outputs are `factors` (design rows, with 1 in place of the bias) and
 * `bias`, all errors, all rows as they are, and with implicit feedback the Gram matrix.
 */
export function alsGatherGraph(shape: AlsGraphShape, batches: number): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const d = shape.unknowns
  const joined = (name: string, width: number): GraphValue => {
    const parts = Array.from({ length: batches }, (_, i) =>
      graph.input(`${name}${i}`, [`B${i}`, width]),
    )
    return parts.length === 1 ? (parts[0] as GraphValue) : graph.add('Concat', parts, { axis: 0 })
  }
  const rows = joined('rows', d)
  if (shape.biased) {
    const last = Array.from({ length: d }, (_, i) => (i === d - 1 ? 1 : 0))
    const isBias = graph.constant([1, d], last)
    const isFactor = graph.constant(
      [1, d],
      [...last].map((flag) => 1 - flag),
    )
    const factors = graph.add('Add', [graph.add('Mul', [rows, isFactor]), isBias])
    const biases = graph.add('Mul', [rows, isBias])
    const squeezed = graph.add('ReduceSum', [biases, graph.integers(1)], { keepdims: 0 })
    graph.output('factors', factors, { shape: ['n', d] })
    graph.output('bias', squeezed, { shape: ['n'] })
  } else {
    graph.output('factors', rows, { shape: ['n', d] })
  }
  if (shape.isImplicit) {
    const transposed = graph.add('Transpose', [rows])
    graph.output('gram', graph.add('MatMul', [transposed, rows]), { shape: [d, d] })
  }
  // The binding finds the place of an output by its number among the requested outputs, so the output
  // that is not always requested comes last.
  graph.output('allErrors', joined('errors', 2), { shape: ['n', 2] })
  graph.output('allRows', rows, { shape: ['n', d] })
  return graph.build()
}

/** Copies the ratings of a batch to the device. */
export function alsUploadGraph(): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const indexes = graph.input('indexes', ['B', 'L'], 'int32')
  graph.output('indexesThere', indexes, { shape: ['B', 'L'], type: 'int32' })
  for (const name of ['weights', 'targets'] as const) {
    graph.output(`${name}There`, graph.input(name, ['B', 'L']), { shape: ['B', 'L'] })
  }
  graph.output('scaleThere', graph.input('scale', ['B', 1]), { shape: ['B', 1] })
  return graph.build()
}
