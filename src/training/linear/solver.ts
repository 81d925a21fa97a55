import { type Random, seededRandom } from '../../core/random.ts'
import type { TrainingParticipant } from '../threads/training-threads.ts'
import { linearLoss, type RowLosses } from './loss.ts'
import { PrimalNewton } from './newton.ts'
import type { LinearShare } from './share.ts'
import { addOnes, addSparse, dotOfOnes, shrunkDot, sparseDot } from './sparse.ts'

/**
 * One phase of a round. `local`: every block takes coordinate steps against its copy of the weights.
 * `combine`: the changes of the copies are added. `certify`: losses and dual parts are summed, and the
 * copies get the parts of the gradient. `newton`: one step of `PrimalNewton` and its certificate.
 */
export type LinearPhase = 'local' | 'combine' | 'certify' | 'newton'

/** Part of its calm violation that a block goes on to when all its rows are calm. */
const CALMER = 0.1
/** After this number of steps for each row of a block, the shrunk rows become active again in any case. */
const FULL_EPOCH_EVERY = 20

/**
 * Stochastic dual coordinate ascent (Hsieh et al., "A dual coordinate descent method for large-scale
 * linear SVM", ICML 2008, with its shrinking) in CoCoA form with adding (Ma, Smith, Jaggi et al.,
 * "Adding vs. averaging in distributed primal-dual optimization", ICML 2015). With a penalty of absolute weights a step is that of
 * Prox-SDCA (Shalev-Shwartz and Zhang, "Accelerated proximal stochastic dual coordinate ascent for regularized loss
 * minimization", ICML 2014): weights are shrunk sums of the steps, and move by no more than these. With K blocks, the steps
 * of a block count K times in its copy of the weights, so that the changes of all blocks can be added
 * safely. A single block is the plain algorithm. Participants take blocks from a counter. The result
 * of a block depends only on the shared state before the phase, so it is the same in every thread.
 */
export class LinearSolver implements TrainingParticipant<LinearPhase> {
  private readonly share: LinearShare
  private readonly losses: RowLosses
  private primal: PrimalNewton | undefined

  constructor(share: LinearShare) {
    this.share = share
    const { costs, places } = share.costs
    this.losses = { losses: costs.map((cost) => linearLoss(share.loss, cost)), places }
  }

  run(phase: LinearPhase): void {
    for (;;) {
      const block = Atomics.add(this.share.next, 0, 1)
      if (block >= this.share.blocks) return
      if (phase === 'local') this.improve(block)
      else if (phase === 'combine') this.combine(block)
      else if (phase === 'certify') this.certify(block)
      else if (block === 0) this.newton()
    }
  }

  /** One block takes the whole step, so that the result does not depend on the threads. */
  private newton(): void {
    this.primal ??= new PrimalNewton(this.share, this.losses)
    this.primal.step()
  }

  /** Runs epochs over the active rows of a block until the block has taken its number of steps. */
  private improve(block: number): void {
    const { share } = this
    const weights = share.local[block] ?? share.weights
    if (weights !== share.weights) weights.set(share.weights)
    const first = share.starts[block] as number
    const end = share.starts[block + 1] as number
    const round = Atomics.load(share.next, 1)
    const passes = share.grows ? Atomics.load(share.next, 2) : share.localPasses
    const budget = share.localSteps ?? Math.max(1, Math.round(passes * (end - first)))
    const random = seededRandom(share.seed + 1 + round * share.blocks + block)
    let taken = 0
    while (taken < budget) {
      if ((share.sinceFull[block] as number) > FULL_EPOCH_EVERY * (end - first)) {
        this.unshrink(block)
      }
      const active = share.active[block] as number
      shuffle(share.order, first, active, random)
      const before = taken
      taken += this.epoch(block, weights, first, Math.min(active, first + budget - taken))
      if (before === taken) break
      const isFull = active === end
      share.sinceFull[block] = isFull ? 0 : (share.sinceFull[block] as number) + taken - before
    }
    share.steps[block] = (share.steps[block] as number) + taken
  }

  /** One step for each row from `first` to `end`; returns the number of steps. */
  private epoch(block: number, weights: Float64Array, first: number, end: number): number {
    const { share } = this
    const { losses, places } = this.losses
    const { order, alpha, signs, squares, bias, l1, stepSize, table, blocks, hasOnes } = share
    const { offsets, indexes, values, features } = table
    const upperBound = share.upperBounds[block] as number
    const lowerBound = share.lowerBounds[block] as number
    const canShrink = share.loss !== 'logistic'
    const isWhole = end === share.active[block]
    let highest = Number.NEGATIVE_INFINITY
    let lowest = Number.POSITIVE_INFINITY
    let active = end
    let steps = 0
    for (let at = first; at < active; at++) {
      const row = order[at] as number
      const sign = signs[row] as number
      const loss = losses[places[row]!]!
      const old = alpha[row] as number
      const from = offsets[row] as number
      const to = offsets[row + 1] as number
      const constant = bias * (weights[features] as number)
      let product: number
      if (l1 > 0) product = shrunkDot(weights, l1, indexes, values, from, to)
      else if (hasOnes) product = dotOfOnes(weights, indexes, from, to)
      else product = sparseDot(weights, indexes, values, from, to)
      const margin = sign * (constant + product)
      steps++
      if (canShrink) {
        const slope = loss.slope(old, margin)
        const atLower = old === 0 && slope > 0
        const atUpper = old === loss.upper && slope < 0
        if (isWhole && ((atLower && slope > upperBound) || (atUpper && slope < lowerBound))) {
          active--
          order[at] = order[active] as number
          order[active] = row
          at--
          continue
        }
        const violation = atLower || atUpper ? 0 : slope
        if (violation > highest) highest = violation
        if (violation < lowest) lowest = violation
        if (violation === 0) continue
      }
      const curvature = blocks * (squares[row] as number)
      // An example without features changes only its own dual variable.
      const best = loss.best(old, margin, Math.max(curvature, Number.MIN_VALUE))
      const taken = stepSize === 1 ? best : old + stepSize * (best - old)
      alpha[row] = taken
      if (taken === old) continue
      const step = (taken - old) * sign * blocks
      weights[features] = (weights[features] as number) + step * bias
      if (hasOnes) addOnes(weights, step, indexes, from, to)
      else addSparse(weights, step, indexes, values, from, to)
    }
    if (canShrink && isWhole) this.shrink(block, active, lowest, highest)
    return steps
  }

  private shrink(block: number, active: number, lowest: number, highest: number): void {
    const { share } = this
    const calm = share.calm[block] as number
    if (!(highest - lowest > calm)) {
      // The last rows that were shrunk may not be calm any more: only an epoch of all rows says so.
      const isFull = active === share.starts[block + 1]
      if (isFull) share.calm[block] = calm * CALMER
      this.unshrink(block)
      return
    }
    share.active[block] = active
    share.upperBounds[block] = highest <= 0 ? Number.POSITIVE_INFINITY : highest
    share.lowerBounds[block] = lowest >= 0 ? Number.NEGATIVE_INFINITY : lowest
  }

  private unshrink(block: number): void {
    const { share } = this
    share.active[block] = share.starts[block + 1] as number
    share.upperBounds[block] = Number.POSITIVE_INFINITY
    share.lowerBounds[block] = Number.NEGATIVE_INFINITY
  }

  /** Adds the changes of all blocks in one slice of the weights. */
  private combine(slice: number): void {
    const { weights, local, blocks } = this.share
    const end = Math.floor((weights.length * (slice + 1)) / blocks)
    for (let j = Math.floor((weights.length * slice) / blocks); j < end; j++) {
      const old = weights[j] as number
      let change = 0
      for (const copy of local) change += (copy[j] as number) - old
      weights[j] = old + change / blocks
    }
  }

  private certify(block: number): void {
    const { share } = this
    const { losses: rowLosses, places } = this.losses
    const { weights, signs, alpha, sorted } = share
    const { offsets, indexes, values, features } = share.table
    const constant = share.bias * (weights[features] as number)
    const end = share.starts[block + 1] as number
    // With one block the dual variables certify well; with more they change long after the weights.
    const gradient = share.loss === 'hinge' ? undefined : share.local[block]
    gradient?.fill(0)
    let losses = 0
    let duals = 0
    for (let at = share.starts[block] as number; at < end; at++) {
      const row = sorted[at] as number
      const [from, to] = [offsets[row] as number, offsets[row + 1] as number]
      const product =
        share.l1 > 0
          ? shrunkDot(weights, share.l1, indexes, values, from, to)
          : sparseDot(weights, indexes, values, from, to)
      const decision = constant + product
      const sign = signs[row] as number
      const loss = rowLosses[places[row]!]!
      losses += loss.primal(sign * decision)
      duals += loss.dual(alpha[row] as number)
      if (gradient === undefined) continue
      const slope = sign * loss.derivative(sign * decision)
      gradient[features] = (gradient[features] as number) + slope * share.bias
      addSparse(gradient, slope, indexes, values, from, to)
    }
    share.losses[block] = losses
    share.duals[block] = duals
  }
}

/**
 * Puts the rows from `first` to `end` in random order, by xorshift32 (Marsaglia 2003): the generator is a sixth
 * of the time of a step otherwise.
 */
function shuffle(order: Uint32Array, first: number, end: number, random: Random): void {
  let state = random.below(2 ** 32 - 1) + 1
  for (let i = end - 1; i > first; i--) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    const j = first + Math.floor(((state >>> 0) / 2 ** 32) * (i + 1 - first))
    const row = order[i] as number
    order[i] = order[j] as number
    order[j] = row
  }
}
