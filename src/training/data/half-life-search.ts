/** Share of the observations, the newest ones, that trainings are compared on. */
export const NEWEST = 0.1
/** Shortest half-life, in halvings of the time that the observations span. */
const MOST_HALVINGS = 10
/** Share of the error by which a half-life must beat a longer one, or an option none: less is chance where nothing drifts. */
export const GAIN = 0.002

/**
 * The half-life, ms, with the least error: first that of the time which observations span, then half of it, and so on while
 * the error falls. Undefined where none is better than to count all the same.
 */
export async function bestHalfLife(
  spanMs: number,
  errorWith: (halfLifeMs: number | undefined) => Promise<number>,
): Promise<number | undefined> {
  let chosen: number | undefined
  let least = await errorWith(undefined)
  for (let halving = 0; halving <= MOST_HALVINGS; halving++) {
    const halfLifeMs = spanMs / 2 ** halving
    const error = await errorWith(halfLifeMs)
    if (error > least * (1 - GAIN)) break
    chosen = halfLifeMs
    least = error
  }
  return chosen
}
