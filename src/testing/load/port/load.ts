/** How requests of an open load at a rate are spread. */
export type ArrivalDistribution = 'constant' | 'poisson'

/** Requests at times that do not depend on the answers, as users send them. */
export type OpenLoad =
  | {
      readonly kind: 'rate'
      readonly perSecond: number
      readonly distribution: ArrivalDistribution
      readonly seed: number
    }
  /** Distances of the requests, from the first again after the last. */
  | { readonly kind: 'intervals'; readonly microseconds: Float64Array }
  /** Times of the requests after the start, ascending, once. */
  | { readonly kind: 'trace'; readonly offsetsMs: Float64Array }

/** The load of one step. */
export type Load =
  /** A number of callers; each sends its next request when its last one is answered. */
  { readonly kind: 'concurrency'; readonly callers: number } | OpenLoad

/** One of several threads that share a load. */
export interface LoadShare {
  /** 0 <= thread < threads. */
  readonly thread: number
  readonly threads: number
}

/** The share of one thread of a number of things. */
export function shareOfCount(count: number, { thread, threads }: LoadShare): number {
  return Math.floor(count / threads) + (thread < count % threads ? 1 : 0)
}
