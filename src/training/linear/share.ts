import { requireArgument, WeirError } from '../../core/errors.ts'
import { seededRandom } from '../../core/random.ts'
import type { SparseTable } from '../data/sparse-table.ts'
import type { LinearLossName } from './loss.ts'
import type { LinearSettings } from './options.ts'
import { type RowCosts, rowCosts } from './row-costs.ts'

/** Shared data of the threads of one training run; every array is in shared memory. */
export interface LinearShare {
  readonly table: SparseTable
  /** Whether all values of the table are 1. */
  readonly hasOnes: boolean
  readonly loss: LinearLossName
  /** C of each row. */
  readonly costs: RowCosts
  readonly bias: number
  /** Penalty of the absolute weights. */
  readonly l1: number
  readonly localPasses: number
  readonly localSteps: number | undefined
  /** Whether the passes of a round are those of `next`. */
  readonly grows: boolean
  readonly stepSize: number
  readonly seed: number
  readonly blocks: number
  /** Row numbers in the order of visits; block b has those from starts[b] to starts[b + 1]. */
  readonly order: Uint32Array
  /** The rows of each block in ascending order: nearer in memory, for sums in any order. */
  readonly sorted: Uint32Array
  readonly starts: Uint32Array
  /** For each row of the table: -1 or 1, dual variable, squared length with the constant feature. */
  readonly signs: Int8Array
  readonly alpha: Float64Array
  readonly squares: Float64Array
  /**
   * Weights of the features; the last one is that of the constant feature. With `l1` they are the sums of the steps, and all but
   * the last weight are these sums `shrunk`.
   */
  readonly weights: Float64Array
  /** Copy of the weights for each block, changed by its steps; after `certify` its part of the gradient. */
  readonly local: readonly Float64Array[]
  /** For each block: end of the rows that are not shrunk, and the bounds for shrinking. */
  readonly active: Uint32Array
  readonly upperBounds: Float64Array
  readonly lowerBounds: Float64Array
  /**
   * For each block: the violation of the active rows at which the shrunk ones become active again, and the
   * steps since all were.
   */
  readonly calm: Float64Array
  readonly sinceFull: Float64Array
  /** For each block: coordinate steps so far, sum of losses, and sum of dual parts. */
  readonly steps: Float64Array
  readonly losses: Float64Array
  readonly duals: Float64Array
  /** Lengths of the gradient of the primal objective: after the last step of Newton's method, and at weights 0. */
  readonly gradients: Float64Array
  /** Number of the next block to take, of the round, and of its passes. */
  readonly next: Int32Array
}

/** The two labels of a table. */
export interface LabelPair {
  readonly negative: number
  /** The larger one. */
  readonly positive: number
}

/** The labels of rows. Throws EMPTY_DATASET, and INVALID_ARGUMENT unless there are exactly two. */
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
    labels.size > 2
      ? 'the examples have more than two labels: train a model for each label with --multiclass, or select the rows of two labels'
      : 'a linear classifier needs two labels, but the examples have one; select the rows of two labels',
  )
  return { negative: Math.min(...labels), positive: Math.max(...labels) }
}

/** Options of `linearShare`. */
export interface LinearShareOptions {
  /** Rows to train on. */
  readonly rows: Uint32Array
  readonly labels: LabelPair
  readonly settings: LinearSettings
  /** Weight of each row of the table; undefined: all 1. */
  readonly weights?: Float32Array | undefined
}

/** Lays out a training run. */
export function linearShare(
  table: SparseTable,
  { rows, labels, settings, weights }: LinearShareOptions,
): LinearShare {
  const blocks = Math.min(settings.blocks, rows.length)
  const width = table.features + 1
  const starts = blockStarts(rows.length, blocks)
  const signs = new Int8Array(new SharedArrayBuffer(table.rows))
  const squares = sharedFloat64(table.rows)
  for (const row of rows) {
    signs[row] = table.labels[row] === labels.positive ? 1 : -1
    squares[row] = squareOf(table, row) + settings.bias * settings.bias
  }
  const order = shuffled(rows, settings.seed)
  const active = sharedUint32(blocks)
  active.set(starts.subarray(1))
  return {
    table,
    hasOnes: table.values.every((value) => value === 1),
    loss: settings.loss,
    costs: rowCosts({
      cost: settings.cost,
      positiveCost: settings.cost * settings.positiveWeight,
      signs,
      weights,
    }),
    bias: settings.bias,
    l1: settings.l1,
    localPasses: settings.localPasses ?? 2,
    localSteps: settings.localSteps,
    // The other losses go on with Newton's method after a few rounds.
    grows: settings.localPasses === undefined && blocks === 1 && settings.loss === 'hinge',
    stepSize: settings.stepSize,
    seed: settings.seed,
    blocks,
    order,
    sorted: sortedInBlocks(order, starts),
    starts,
    signs,
    alpha: sharedFloat64(table.rows),
    squares,
    weights: sharedFloat64(width),
    // A single block changes the weights directly.
    local: Array.from({ length: blocks === 1 ? 0 : blocks }, () => sharedFloat64(width)),
    active,
    upperBounds: sharedFloat64(blocks).fill(Number.POSITIVE_INFINITY),
    lowerBounds: sharedFloat64(blocks).fill(Number.NEGATIVE_INFINITY),
    calm: sharedFloat64(blocks).fill(0.1),
    sinceFull: sharedFloat64(blocks),
    steps: sharedFloat64(blocks),
    losses: sharedFloat64(blocks),
    duals: sharedFloat64(blocks),
    gradients: sharedFloat64(2),
    next: new Int32Array(new SharedArrayBuffer(12)),
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

/** The first row of each block, and the number of rows at the end: blocks of equal sizes. */
function blockStarts(rows: number, blocks: number): Uint32Array {
  const starts = sharedUint32(blocks + 1)
  for (let b = 0; b <= blocks; b++) starts[b] = Math.floor((rows * b) / blocks)
  return starts
}

/** The same rows with those of each block in ascending order. */
function sortedInBlocks(order: Uint32Array, starts: Uint32Array): Uint32Array {
  const sorted = sharedUint32(order.length)
  sorted.set(order)
  for (let b = 0; b + 1 < starts.length; b++) sorted.subarray(starts[b], starts[b + 1]).sort()
  return sorted
}

/** Rows in random order, so that every block is a random sample. */
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
