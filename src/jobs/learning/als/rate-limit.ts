/** Counters after which those of before are forgotten. */
const MOST_COUNTERS = 50_000

/**
 * Limits the ratings of one user, or of one item, in one second of event time: a replay decides as the first
 * run did. Ratings may come in any order of their times: every second has a counter.
 */
export class RateLimit {
  private readonly perSecond: number
  /** Counts by id and second: the newest, and those of before. */
  private newest = new Map<string, number>()
  private before = new Map<string, number>()

  /** `perSecond`: ratings of an id that are admitted in a second. */
  constructor(perSecond: number) {
    this.perSecond = perSecond
  }

  /** Counts a rating; true where it is above the limit. */
  exceeds(id: string, timestampMs: number): boolean {
    const counter = `${Math.floor(timestampMs / 1000)}/${id}`
    const count = (this.newest.get(counter) ?? this.before.get(counter) ?? 0) + 1
    if (this.newest.size >= MOST_COUNTERS) {
      this.before = this.newest
      this.newest = new Map()
    }
    this.newest.set(counter, count)
    return count > this.perSecond
  }
}
