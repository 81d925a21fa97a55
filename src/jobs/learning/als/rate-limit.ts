/** Maximum number of tracked ids. Above it, all counters of the current second are reset. */
const MOST_IDS = 100_000

/**
 * Limits the ratings of one user, or of one item, in one second of event time: a replay decides as the first
 * run did.
 */
export class RateLimit {
  private readonly perSecond: number
  private readonly seconds = new Map<string, { second: number; count: number }>()

  /** `perSecond`: ratings of an id that are admitted in a second. */
  constructor(perSecond: number) {
    this.perSecond = perSecond
  }

  /** Counts a rating; true where it is above the limit. */
  exceeds(id: string, timestampMs: number): boolean {
    const second = Math.floor(timestampMs / 1000)
    const seen = this.seconds.get(id)
    if (seen?.second === second) return ++seen.count > this.perSecond
    if (this.seconds.size >= MOST_IDS) this.seconds.clear()
    this.seconds.set(id, { second, count: 1 })
    return false
  }
}
