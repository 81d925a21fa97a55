/** Area under a ROC curve, and the examples that it is of. */
export interface AreaUnderCurve {
  /** Probability that a positive example scores above a negative one, a tie counts half; NaN if there is only one label. */
  readonly area: number
  readonly positives: number
  readonly negatives: number
}

/**
 * The area by the sum of the ranks of the positives (Mann-Whitney); tied scores have their mean rank. `truths`: 1 for a
 * positive example, else 0.
 */
export function areaUnderCurve(
  scores: ArrayLike<number>,
  truths: ArrayLike<number>,
  count: number = scores.length,
): AreaUnderCurve {
  const order = Uint32Array.from({ length: count }, (_, i) => i)
  order.sort((a, b) => (scores[a] as number) - (scores[b] as number))
  let rankSum = 0
  let positives = 0
  for (let from = 0; from < count; ) {
    let to = from
    let positive = 0
    const score = scores[order[from] as number]
    for (; to < count && scores[order[to] as number] === score; to++) {
      positive += truths[order[to] as number] as number
    }
    rankSum += (positive * (from + 1 + to)) / 2
    positives += positive
    from = to
  }
  const negatives = count - positives
  const area = (rankSum - (positives * (positives + 1)) / 2) / (positives * negatives)
  return { area, positives, negatives }
}
