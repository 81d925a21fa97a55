import {
  addBlock, addBlockProduct, BLOCK_ROWS, blockSquares, gatherLower, gatherUpper, touchRows, weightedSquares,
} from './als-blocks.as'
import { firstLanes, lanesSum } from './vector.as'

/**
 * The passes of conjugate gradient over the ratings of one row. Rows q_k of the other side are used as
 * they are, with a weight w_k and a target t_k beside each:
 *
 *   explicit   w = 1       t = rating - mean - bias   (the last element of q is the constant 1)
 *   implicit   w = c - 1   t = c p                    (c and p: see `als-row.as.ts`)
 *
 * The first pass gathers the rows into the panel. Rows of more ratings than the panel holds are gathered
 * again by each pass, block by block in one place; the arithmetic is the same, so the panel's size does not
 * change a bit of the result.
 */

/** Ratings whose rows are touched before they are gathered: 10 KB of cache lines at 64 factors. */
const TOUCH_ROWS: u32 = 32

/** What `touchRows` answered. */
let touched: u32 = 0

/** The row whose passes run, from `openRow` on. */
let indexes: usize = 0
let ratings: usize = 0
let count: u32 = 0
let other: usize = 0
let stride: u32 = 0
let unknowns: u32 = 0
let width: u32 = 0
let isImplicit: bool = false
let alpha: f32 = 0
let panel: usize = 0
let isKept: bool = false
/** Indexes and ratings of a last block that is not full: 2 x 8. */
let padding: usize = 0

/** The block that a pass is at: its indexes and ratings, and how many ratings are left from its first on. */
let blockIndexes: usize = 0
let blockRatings: usize = 0
let left: u32 = 0

/** Sets the row of the next passes. `pad`: 64 bytes of scratch. */
export function openRow(
  rowIndexes: usize, rowRatings: usize, n: u32, otherRows: usize, rowStride: u32, d: u32, panelWidth: u32,
  implicit: bool, confidence: f32, rows: usize, kept: bool, pad: usize,
): void {
  indexes = rowIndexes
  ratings = rowRatings
  count = n
  other = otherRows
  stride = rowStride
  unknowns = d
  width = panelWidth
  isImplicit = implicit
  alpha = confidence
  panel = rows
  isKept = kept
  padding = pad
}

/** Goes to the block that starts at rating `from`. One that is not full gets its first row for those that it lacks. */
function openBlock(from: u32): void {
  left = count - from
  blockIndexes = indexes + (from << 2)
  blockRatings = ratings + (from << 2)
  if (left >= BLOCK_ROWS) return
  const first = i32x4.splat(load<u32>(blockIndexes))
  v128.store(padding, first)
  v128.store(padding, first, 16)
  memory.copy(padding, blockIndexes, (left as usize) << 2)
  memory.fill(padding + 32, 0, 32)
  memory.copy(padding + 32, blockRatings, (left as usize) << 2)
  blockIndexes = padding
  blockRatings = padding + 32
}

/** Touches the rows of this block and of the next ones. */
@inline
function touchAhead(from: u32): void {
  if (!(from % TOUCH_ROWS)) touched ^= touchRows(blockIndexes, min(left, TOUCH_ROWS), other, stride)
}

/** Where the block that starts at rating `from` has its place. */
@inline
function placeOf(from: u32): usize {
  return isKept ? panel + ((from * width) << 2) : panel
}

/** Ratings left from the fifth of the block on. */
@inline
function upperLeft(): u32 {
  return left > 4 ? left - 4 : 0
}

/** Weights of four ratings, 0 beyond the first `valid`. */
@inline
function weightsOf(at: usize, valid: u32): v128 {
  const weights = isImplicit ? f32x4.mul(f32x4.splat(alpha), f32x4.abs(v128.load(at))) : f32x4.splat(1)
  return v128.and(weights, firstLanes(valid))
}

/** Targets of four ratings, 0 beyond the first `valid`. */
@inline
function targetsOf(at: usize, rows: usize, valid: u32, biased: bool, mean: f32): v128 {
  const values = v128.load(at)
  const mask = firstLanes(valid)
  if (isImplicit) {
    const confidences = f32x4.relaxed_madd(f32x4.splat(alpha), f32x4.abs(values), f32x4.splat(1))
    return v128.and(confidences, v128.and(mask, f32x4.gt(values, f32x4.splat(0))))
  }
  const targets = f32x4.sub(values, f32x4.splat(mean))
  return v128.and(biased ? f32x4.sub(targets, biasesOf(rows)) : targets, mask)
}

/** Biases of four rows of the other side. */
@inline
function biasesOf(rows: usize): v128 {
  const biases = other + (unknowns << 2)
  return f32x4(
    load<f32>(biases + load<u32>(rows) * stride), load<f32>(biases + load<u32>(rows, 4) * stride),
    load<f32>(biases + load<u32>(rows, 8) * stride), load<f32>(biases + load<u32>(rows, 12) * stride),
  )
}

/** Squared errors of four ratings at products s; implicit: c (p - s)^2 without the s^2 that x^T G x has. */
@inline
function errorsOf(targets: v128, weights: v128, products: v128, valid: u32): v128 {
  if (!isImplicit) {
    const errors = f32x4.relaxed_nmadd(weights, products, targets)
    return f32x4.mul(errors, errors)
  }
  const preferences = v128.and(f32x4.splat(1), f32x4.gt(targets, f32x4.splat(0)))
  const errors = f32x4.sub(preferences, products)
  const confidences = f32x4.add(weights, f32x4.splat(1))
  const squares = f32x4.mul(f32x4.mul(confidences, errors), errors)
  return v128.and(f32x4.relaxed_nmadd(products, products, squares), firstLanes(valid))
}

/** Clears what is beyond the unknowns: the gathered rows may have a bias there. */
@inline
function clearBeyond(v: usize): void {
  if (!(unknowns & 3)) return
  const last = v + ((width - 4) << 2)
  v128.store(last, v128.and(v128.load(last), firstLanes(unknowns & 3)))
}

/** First pass: r += sum of (t_k - w_k q_k.x) q_k. Answers the sum of squared errors at x. */
export function addResidual(biased: bool, mean: f32, x: usize, r: usize): f64 {
  let squares: f64 = 0
  for (let from: u32 = 0; from < count; from += BLOCK_ROWS) {
    openBlock(from)
    touchAhead(from)
    const block = placeOf(from)
    const lower = gatherLower(blockIndexes, other, stride, block, width, x)
    const upper = gatherUpper(blockIndexes, other, stride, block, width, x)
    const lowerWeights = weightsOf(blockRatings, left)
    const upperWeights = weightsOf(blockRatings + 16, upperLeft())
    const lowerTargets = targetsOf(blockRatings, blockIndexes, left, biased, mean)
    const upperTargets = targetsOf(blockRatings + 16, blockIndexes + 16, upperLeft(), biased, mean)
    const errors = errorsOf(lowerTargets, lowerWeights, lower, left)
    squares += lanesSum(f32x4.add(errors, errorsOf(upperTargets, upperWeights, upper, upperLeft()))) as f64
    const lowerErrors = f32x4.relaxed_nmadd(lowerWeights, lower, lowerTargets)
    addBlock(block, width, lowerErrors, f32x4.relaxed_nmadd(upperWeights, upper, upperTargets), r)
  }
  clearBeyond(r)
  return squares
}

/** A later pass: out += sum of w_k (q_k . v) q_k. */
export function addProduct(v: usize, out: usize): void {
  for (let from: u32 = 0; from < count; from += BLOCK_ROWS) {
    openBlock(from)
    const block = placeOf(from)
    const lowerWeights = weightsOf(blockRatings, left)
    const upperWeights = weightsOf(blockRatings + 16, upperLeft())
    if (isKept) {
      addBlockProduct(block, width, v, lowerWeights, upperWeights, out)
      continue
    }
    touchAhead(from)
    const lower = gatherLower(blockIndexes, other, stride, block, width, v)
    const upper = gatherUpper(blockIndexes, other, stride, block, width, v)
    addBlock(block, width, f32x4.mul(lowerWeights, lower), f32x4.mul(upperWeights, upper), out)
  }
  clearBeyond(out)
}

/** The last pass: sum of w_k (q_k . v)^2. */
export function squaresAlong(v: usize): f64 {
  let sum: f64 = 0
  for (let from: u32 = 0; from < count; from += BLOCK_ROWS) {
    openBlock(from)
    const block = placeOf(from)
    const lowerWeights = weightsOf(blockRatings, left)
    const upperWeights = weightsOf(blockRatings + 16, upperLeft())
    if (isKept) {
      sum += lanesSum(blockSquares(block, width, v, lowerWeights, upperWeights)) as f64
      continue
    }
    touchAhead(from)
    const lower = gatherLower(blockIndexes, other, stride, block, width, v)
    const upper = gatherUpper(blockIndexes, other, stride, block, width, v)
    sum += lanesSum(weightedSquares(lowerWeights, lower, upperWeights, upper)) as f64
  }
  return sum
}
