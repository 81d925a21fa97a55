import { type GraphValue, OnnxGraphBuilder } from './onnx-graph.ts'

/** What the graphs of a training run depend on. */
export interface AlsGraphShape {
  /** Unknowns of a row: the factors, and its bias with biases. */
  readonly unknowns: number
  /** The last unknown is the row's bias. */
  readonly biased: boolean
  /** Implicit feedback: the other side's Gram matrix takes part. */
  readonly isImplicit: boolean
  readonly cgSteps: number
  readonly regularization: number
  readonly biasRegularization: number
}

/** Keeps 0 / 0 at 0 where a row has converged exactly or has nothing to solve. */
const TINY = 1e-30

/**
 * Solves a batch of B rows, each padded to L ratings, by `cgSteps` unrolled steps of conjugate
 * gradient from their present value; the same steps as `assembly/als-row.as.ts`. A row minimises
 *
 *   sum over k of weights_k (targets_k - bias_k - z_k . x)^2 + scale x^T diag(penalty) x (+ x^T G x)
 *
 * with z_k = factors[indexes_k]; a padded rating has weight 0. Out come the rows and, for each, its
 * part of the objective (it falls by alpha r.r a step) and of the penalty.
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
  const algebra = new BatchAlgebra(graph, graph.add('Gather', [factors, indexes]))
  const penalties = graph.add('Mul', [scale, graph.constant([1, d], penaltyRow(shape))])
  const system = { algebra, weights, penalties, gram, targets, start }
  const { rows, objective } = conjugateGradient(graph, system, shape.cgSteps)
  const penalty = algebra.inner(graph.add('Mul', [penalties, rows]), rows)
  graph.output('rows', rows, ['B', d])
  graph.output('errors', graph.add('Concat', [objective, penalty], { axis: 1 }), ['B', 2])
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
  /** What is not a rating's part of A v: the penalties and, implicitly, all pairs. */
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

/** Products of a batch's design rows, [B, L, d], with vectors of its rows. */
class BatchAlgebra {
  private readonly graph: OnnxGraphBuilder
  private readonly design: GraphValue
  private readonly axes: readonly [GraphValue, GraphValue]

  constructor(graph: OnnxGraphBuilder, design: GraphValue) {
    this.graph = graph
    this.design = design
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
    const row = this.graph.add('Unsqueeze', [c, this.axes[0]])
    const product = this.graph.add('MatMul', [row, this.design])
    return this.graph.add('Squeeze', [product, this.axes[0]])
  }

  /** Inner product of each row: [B, m] twice to [B, 1]. */
  inner(a: GraphValue, b: GraphValue): GraphValue {
    return this.graph.add('ReduceSum', [this.graph.add('Mul', [a, b]), this.axes[0]])
  }
}

/**
 * Puts a side's batches together again: `rows` of all of them as they are, as `factors` (design rows,
 * the bias replaced by 1) with `bias` beside, their `errors`, and implicitly the Gram matrix.
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
    graph.output('factors', factors, ['n', d])
    graph.output('bias', squeezed, ['n'])
  } else {
    graph.output('factors', rows, ['n', d])
  }
  if (shape.isImplicit) {
    const transposed = graph.add('Transpose', [rows])
    graph.output('gram', graph.add('MatMul', [transposed, rows]), [d, d])
  }
  // The binding takes an output's place by its number among the outputs asked for: the one that is
  // not always asked for comes last.
  graph.output('allErrors', joined('errors', 2), ['n', 2])
  graph.output('allRows', rows, ['n', d])
  return graph.build()
}

/** Copies a batch's ratings to where the outputs are kept. */
export function alsUploadGraph(): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const indexes = graph.input('indexes', ['B', 'L'], 'int32')
  graph.output('indexesThere', indexes, ['B', 'L'], 'int32')
  for (const name of ['weights', 'targets'] as const) {
    graph.output(`${name}There`, graph.input(name, ['B', 'L']), ['B', 'L'])
  }
  graph.output('scaleThere', graph.input('scale', ['B', 1]), ['B', 1])
  return graph.build()
}
