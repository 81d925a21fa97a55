/** Users remembered; beyond that the second begins anew for all. */
const MOST_USERS = 100_000

/**
 * Ratings of one user in one second of event time, so that a replay decides as the first run did.
 */
export class RateLimit {
  private readonly perSecond: number
  private readonly seconds = new Map<string, { second: number; count: number }>()

  /** `perSecond`: ratings of a user that are let through in a second. */
  constructor(perSecond: number) {
    this.perSecond = perSecond
  }

  /** Whether this rating is one too many. */
  exceeds(user: string, timestampMs: number): boolean {
    const second = Math.floor(timestampMs / 1000)
    const seen = this.seconds.get(user)
    if (seen?.second === second) return ++seen.count > this.perSecond
    if (this.seconds.size >= MOST_USERS) this.seconds.clear()
    this.seconds.set(user, { second, count: 1 })
    return false
  }
}
