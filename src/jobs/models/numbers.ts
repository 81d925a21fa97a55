import type { Bucket, ModelStatistics } from '../../inference/port/engine.ts'

/**
 * Statistics of a version as one flat record. Batches by the reason of their start are `dispatched.REASON`, buckets of
 * a histogram `NAME.bucket.BOUND`; the last bound is `Infinity`, and a histogram without observations is left out.
 */
export function numbersOf(statistics: ModelStatistics | undefined): Record<string, number> {
  if (statistics === undefined) return {}
  const numbers = Object.entries(statistics).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  )
  const reasons = Object.entries(statistics.dispatched).map(
    ([reason, batches]) => [`dispatched.${reason}`, batches] as const,
  )
  const buckets = Object.entries(statistics.histograms)
    .filter(([, histogram]) => isUsed(histogram))
    .flatMap(([name, histogram]) =>
      histogram.map(({ upTo, count }) => [`${name}.bucket.${upTo}`, count] as const),
    )
  return Object.fromEntries([...numbers, ...reasons, ...buckets])
}

/** A repository may have many models that no one asks; their empty buckets would fill the frame of the list. */
const isUsed = (histogram: readonly Bucket[]): boolean => histogram.some(({ count }) => count > 0)
