/** Buckets of a histogram: the bound of each is twice the one before, and the last bucket takes what is above. */
export interface Buckets {
  /** Upper bound of the first bucket, inclusive. */
  readonly first: number
  /** Number of buckets, the last one included. */
  readonly count: number
}

/** Buckets of times in ms: from 31 us to 16 s. */
export const TIME_BUCKETS: Buckets = { first: 1 / 32, count: 21 }
/** Buckets of the items of a batch: from 1 to 16,384. */
export const ITEM_BUCKETS: Buckets = { first: 1, count: 16 }

/** Number of the bucket that a value falls into. */
export function bucketOf(value: number, { first, count }: Buckets): number {
  if (!(value > first)) return 0
  return Math.min(count - 1, ceilLog2(value / first))
}

/** The logarithm of `value` to the base 2, rounded up, 1 <= value; at most 31. Counts run for each request. */
export const ceilLog2 = (value: number): number =>
  value > 2 ** 30 ? 31 : 32 - Math.clz32(Math.ceil(value) - 1)

/** Upper bounds of the buckets, ascending; the last one is Infinity. */
export function boundsOf({ first, count }: Buckets): number[] {
  return Array.from({ length: count }, (_, i) =>
    i === count - 1 ? Number.POSITIVE_INFINITY : first * 2 ** i,
  )
}
