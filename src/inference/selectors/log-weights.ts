import type { Random } from '../../core/random.ts'

/**
 * Logarithms of weights of which only the differences count: the largest is 0, so that no number of rewards takes them
 * out of float32. A weight that is far too small to matter keeps this logarithm.
 */
const SMALLEST = -1e30

/** Shares of log weights, float32, which sum to 1. */
export function sharesOf(logWeights: Float32Array): Float32Array {
  const largest = logWeights.reduce((a, b) => Math.max(a, b), -Infinity)
  const weights = Float64Array.from(logWeights, (x) => Math.exp(x - largest))
  const sum = weights.reduce((a, b) => a + b, 0)
  return Float32Array.from(weights, (weight) => weight / sum)
}

/** The log weights after the loss of some arms, in units of the exponent. */
export function afterLosses(
  logWeights: Float32Array,
  losses: readonly (readonly [arm: number, exponent: number])[],
): Float32Array {
  const next = Float64Array.from(logWeights)
  for (const [arm, exponent] of losses) next[arm] = next[arm]! - exponent
  const largest = next.reduce((a, b) => Math.max(a, b), -Infinity)
  return Float32Array.from(next, (x) => Math.max(SMALLEST, x - largest))
}

/**
 * The log weights after each arm gave a share of its weight to all of them: (1 - share) s_i / sum + share / k. An arm
 * that was bad comes back within 1 / share requests (fixed share; Herbster and Warmuth, "Tracking the best expert",
 * Machine Learning 32, 1998, section 4).
 */
export function afterSharing(logWeights: Float32Array, share: number): Float32Array {
  if (share === 0) return logWeights
  const shares = sharesOf(logWeights)
  const mixed = Float64Array.from(shares, (s) => Math.log((1 - share) * s + share / shares.length))
  const largest = mixed.reduce((a, b) => Math.max(a, b), -Infinity)
  return Float32Array.from(mixed, (x) => x - largest)
}

/** The log weight of an arm that comes: the mean weight of those that stay, so that its share is one of k. */
export function newcomerWeight(kept: readonly Float32Array[]): Float32Array {
  if (kept.length === 0) return new Float32Array(1)
  const largest = kept.reduce((a, [x]) => Math.max(a, x!), -Infinity)
  const sum = kept.reduce((total, [x]) => total + Math.exp(x! - largest), 0)
  return Float32Array.of(largest + Math.log(sum / kept.length))
}

/** An arm that is drawn by its probability. One of probability 0 is never drawn. */
export function draw(probabilities: Float32Array, random: Random): number {
  let rest = random.next() * probabilities.reduce((a, b) => a + b, 0)
  let last = 0
  for (const [arm, probability] of probabilities.entries()) {
    if (probability === 0) continue
    last = arm
    rest -= probability
    if (rest < 0) return arm
  }
  return last
}
