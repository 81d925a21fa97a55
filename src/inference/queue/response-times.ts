import { ceilLog2 } from './buckets.ts'

/** Buckets of a histogram of response times. */
export const RESPONSE_BUCKETS = 32
/** Upper end of the first bucket, ms. Each further one ends at the square root of two times the one before. */
const FIRST_MS = 0.25

/** Number of the bucket of a response time in ms; the last one also takes what is above 11.6 s. */
export function responseBucketOf(ms: number): number {
  if (!(ms > FIRST_MS)) return 0
  return Math.min(RESPONSE_BUCKETS - 1, ceilLog2((ms / FIRST_MS) ** 2))
}

/**
 * Response time in ms that a share of all answers stays below, from the counts of the buckets; 0 without
 * answers. Within a bucket the times are taken as evenly spread.
 */
export function responseQuantile(counts: readonly number[], share: number): number {
  const wanted = share * counts.reduce((sum, count) => sum + count, 0)
  let below = 0
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && below + count >= wanted) {
      const start = bucket === 0 ? 0 : endOf(bucket - 1)
      return start + ((endOf(bucket) - start) * (wanted - below)) / count
    }
    below += count
  }
  return 0
}

const endOf = (bucket: number): number => FIRST_MS * 2 ** (bucket / 2)
