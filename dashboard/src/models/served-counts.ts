/** What became of the requests of a model. */
export interface ServedCounts {
  /** All that have ended. */
  readonly requests: number
  /** By a run, and from the cache. */
  readonly answers: number
  /** Refused before a run: it could not have been in time, or the queue was full. */
  readonly refused: number
}

/** Adds the counters of a model up. A request that the cache answered does not reach the queue. */
export function servedCounts(statistics: Readonly<Record<string, number>>): ServedCounts {
  const sum = (...names: readonly string[]): number =>
    names.reduce((total, name) => total + (statistics[name] ?? 0), 0)
  const answers = sum('answered', 'cacheHits', 'cacheJoined')
  const refused = sum('shedDoomed', 'shedFull')
  return { requests: answers + refused + sum('failed', 'expired', 'cancelled'), answers, refused }
}
