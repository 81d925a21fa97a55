import { requireArgument } from '../../core/errors.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'

/** Smallest weight: a row of old observations only keeps a problem that can be solved. */
const LEAST = 1e-6

/**
 * Weights of observations by their age, 2^(-age / half-life), at least 1e-6. The age is that relative to the newest one, so that the
 * same observations have the same weights whenever they are trained on. Throws INVALID_ARGUMENT if one has no time.
 */
export function ageWeights(timestamps: Float64Array, halfLifeMs: number): Float32Array {
  requireTimes(timestamps)
  const newest = timestamps.reduce((latest, at) => Math.max(latest, at), 0)
  return Float32Array.from(timestamps, (at) => Math.max(LEAST, 2 ** ((at - newest) / halfLifeMs)))
}

/** Throws INVALID_ARGUMENT where an observation has no time. */
export function requireTimes(timestamps: Float64Array): void {
  const untimed = timestamps.reduce((count, at) => count + (at === NO_TIMESTAMP ? 1 : 0), 0)
  requireArgument(
    untimed === 0,
    `${untimed} of ${timestamps.length} observations have no time, and a half-life weighs them by their age; give all a time, or train without a half-life`,
  )
}

/** A table of which the values count less with their age: what an event says of implicit feedback fades. */
export function fadedRatings<
  T extends { readonly rating: Float32Array; readonly timestamp: Float64Array },
>(table: T, halfLifeMs: number | undefined): T {
  if (halfLifeMs === undefined) return table
  const weights = ageWeights(table.timestamp, halfLifeMs)
  return { ...table, rating: table.rating.map((rating, n) => rating * weights[n]!) }
}
