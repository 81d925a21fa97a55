import { requireArgument, WeirError } from '../core/errors.ts'
import { seededRandom } from '../core/random.ts'
import type { LinearLossName } from './linear-loss.ts'
import type { LinearSettings } from './linear-options.ts'
import type { SparseTable } from './sparse-table.ts'

/** What the threads of one training run share; every array lies in shared memory. */
export interface LinearShare {
  readonly table: SparseTable
  readonly loss: LinearLossName
  readonly cost: number
  readonly bias: number
  readonly localPasses: number
  readonly seed: number
  readonly blocks: number
  /** Row numbers in the order they are visited; block b has those from starts[b] to starts[b + 1]. */
  readonly order: Uint32Array
  /** The same rows of each block by number: nearer in memory where the order does not matter. */
  readonly sorted: Uint32Array
  readonly starts: Uint32Array
  /** By row of the table: -1 or 1, dual variable, squared length with the constant feature. */
  readonly signs: Int8Array
  readonly alpha: Float64Array
  readonly squares: Float64Array
  /** Feature weights and, last, that of the constant feature. */
  readonly weights: Float64Array
  /** Each block's own copy of the weights, which its steps have moved. */
  readonly local: readonly Float64Array[]
  /** By block: end of the rows that are not shrunk away, and the bounds for shrinking. */
  readonly active: Uint32Array
  readonly upperBounds: Float64Array
  readonly lowerBounds: Float64Array
  /** By block: coordinate steps so far, sum of losses and of dual parts. */
  readonly steps: Float64Array
  readonly losses: Float64Array
  readonly duals: Float64Array
  /** Number of the next block to take, and of the round. */
  readonly next: Int32Array
}

/** The two labels of a table. */
export interface LabelPair {
  readonly negative: number
  /** The larger one. */
  readonly positive: number
}

/** Finds the labels. Throws EMPTY_DATASET, and INVALID_ARGUMENT unless there are exactly two. */
export function labelPair(table: SparseTable, rows: Uint32Array): LabelPair {
  if (rows.length === 0) {
    throw new WeirError('EMPTY_DATASET', 'there are no examples; check the file and its format')
  }
  const labels = new Set<number>()
  for (const row of rows) {
    labels.add(table.labels[row] as number)
    if (labels.size > 2) break
  }
  requireArgument(
    labels.size === 2,
    `a linear classifier is trained on two labels, the examples have ${labels.size > 2 ? 'more' : 'one'}; select the rows of two`,
  )
  return { negative: Math.min(...labels), positive: Math.max(...labels) }
}

/** Lays out a run over `rows` of a table. */
export function linearShare(
  table: SparseTable,
  rows: Uint32Array,
  labels: LabelPair,
  settings: LinearSettings,
): LinearShare {
  const blocks = Math.min(settings.blocks, rows.length)
  const width = table.features + 1
  const starts = sharedUint32(blocks + 1)
  for (let b = 0; b <= blocks; b++) starts[b] = Math.floor((rows.length * b) / blocks)
  const signs = new Int8Array(new SharedArrayBuffer(table.rows))
  const squares = sharedFloat64(table.rows)
  for (const row of rows) {
    signs[row] = table.labels[row] === labels.positive ? 1 : -1
    squares[row] = squareOf(table, row) + settings.bias * settings.bias
  }
  const order = shuffled(rows, settings.seed)
  const sorted = sharedUint32(rows.length)
  sorted.set(order)
  for (let b = 0; b < blocks; b++) sorted.subarray(starts[b], starts[b + 1]).sort()
  const active = sharedUint32(blocks)
  active.set(starts.subarray(1))
  return {
    table,
    loss: settings.loss,
    cost: settings.cost,
    bias: settings.bias,
    localPasses: settings.localPasses,
    seed: settings.seed,
    blocks,
    order,
    sorted,
    starts,
    signs,
    alpha: sharedFloat64(table.rows),
    squares,
    weights: sharedFloat64(width),
    // One block alone moves the weights themselves.
    local: Array.from({ length: blocks === 1 ? 0 : blocks }, () => sharedFloat64(width)),
    active,
    upperBounds: sharedFloat64(blocks).fill(Number.POSITIVE_INFINITY),
    lowerBounds: sharedFloat64(blocks).fill(Number.NEGATIVE_INFINITY),
    steps: sharedFloat64(blocks),
    losses: sharedFloat64(blocks),
    duals: sharedFloat64(blocks),
    next: new Int32Array(new SharedArrayBuffer(8)),
  }
}

const sharedUint32 = (length: number): Uint32Array =>
  new Uint32Array(new SharedArrayBuffer(length * 4))
const sharedFloat64 = (length: number): Float64Array =>
  new Float64Array(new SharedArrayBuffer(length * 8))

function squareOf(table: SparseTable, row: number): number {
  let sum = 0
  const end = table.offsets[row + 1] as number
  for (let k = table.offsets[row] as number; k < end; k++) sum += (table.values[k] as number) ** 2
  return sum
}

/** Rows in random order, so that every block is a fair sample of them. */
function shuffled(rows: Uint32Array, seed: number): Uint32Array {
  const order = sharedUint32(rows.length)
  order.set(rows)
  const random = seededRandom(seed)
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const row = order[i] as number
    order[i] = order[j] as number
    order[j] = row
  }
  return order
}
