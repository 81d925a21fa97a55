import { requireArgument } from '../../../core/errors.ts'
import { type Random, seededRandom } from '../../../core/random.ts'
import type { LoadShare, OpenLoad } from '../port/load.ts'

/** The times at which requests are due. */
export interface Arrivals {
  /** The next time, ms after the start of the load, never lower than the one before; Infinity after the last. */
  nextMs(): number
}

/** Requests with equal distances; the first is due after one distance. */
function constantArrivals(perSecond: number): Arrivals {
  let sent = 0
  return { nextMs: () => (++sent * 1000) / perSecond }
}

/** A Poisson process: distances are exponential with mean `1 / perSecond`. */
function poissonArrivals(perSecond: number, random: Random): Arrivals {
  let at = 0
  return {
    nextMs: () => {
      at -= (Math.log(1 - random.next()) * 1000) / perSecond
      return at
    },
  }
}

/** Distances in microseconds, from the first again after the last. Throws INVALID_ARGUMENT. */
function intervalArrivals(microseconds: Float64Array): Arrivals {
  requireArgument(
    microseconds.some((interval) => interval > 0),
    'the file of request intervals needs an interval above 0',
  )
  let next = 0
  let at = 0
  return {
    nextMs: () => {
      at += microseconds[next]! / 1000
      next = next + 1 === microseconds.length ? 0 : next + 1
      return at
    },
  }
}

/** Given times, once. */
function traceArrivals(offsetsMs: Float64Array): Arrivals {
  let next = 0
  return { nextMs: () => offsetsMs[next++] ?? Number.POSITIVE_INFINITY }
}

/** The times of an open load. */
export function arrivalsOf(load: OpenLoad): Arrivals {
  switch (load.kind) {
    case 'rate':
      return load.distribution === 'constant'
        ? constantArrivals(load.perSecond)
        : poissonArrivals(load.perSecond, seededRandom(load.seed))
    case 'intervals':
      return intervalArrivals(load.microseconds)
    case 'trace':
      return traceArrivals(load.offsetsMs)
  }
}

/** The share of one of several threads: the whole schedule is the same for any number of threads. */
export function shareOfArrivals(arrivals: Arrivals, { thread, threads }: LoadShare): Arrivals {
  let next = 0
  return {
    nextMs: () => {
      for (;;) {
        const at = arrivals.nextMs()
        if (next++ % threads === thread || at === Number.POSITIVE_INFINITY) return at
      }
    },
  }
}
