/** The inner product of two rows, summed up one by one. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

/** The mean of some numbers. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Half the width of the 95 % interval of a mean. */
export function interval(values: readonly number[]): number {
  const middle = mean(values)
  const variance = values.reduce((sum, one) => sum + (one - middle) ** 2, 0) / (values.length - 1)
  return 1.96 * Math.sqrt(variance / values.length)
}

/**
 * The part of a rise from `before` to `after`, losses of the same cases, that is certain: the lower end of the
 * paired 95 % interval of the mean difference. Above 0, things certainly became worse.
 */
export function certainRise(before: readonly number[], after: readonly number[]): number {
  if (before.length !== after.length) throw new Error(`${before.length} and ${after.length} losses`)
  const rises = after.map((loss, n) => loss - before[n]!)
  return mean(rises) - interval(rises)
}

/**
 * Says that the mean loss of the same cases has risen by more than its interval, or is no number; undefined if it has not, and
 * where there is nothing to compare it with.
 */
export function riseOfLoss(
  before: readonly number[],
  after: readonly number[],
): string | undefined {
  if (before.length === 0) return undefined
  const [was, is] = [mean(before), mean(after)]
  return is <= was + interval(before) ? undefined : `the loss rose from ${was} to ${is}`
}

/** What a list of items, the best first, lacks to the best possible NDCG at its length: 0 if it is the best. */
export function ndcgLoss(list: readonly string[], relevant: ReadonlySet<string>): number {
  const gain = (rank: number): number => 1 / Math.log2(rank + 2)
  let ideal = 0
  for (let rank = 0; rank < Math.min(10, relevant.size); rank++) ideal += gain(rank)
  let found = 0
  for (const [rank, item] of list.slice(0, 10).entries()) {
    if (relevant.has(item)) found += gain(rank)
  }
  return 1 - found / ideal
}
