/** Rate of requests that is allowed. */
export interface RateLimit {
  /** Requests a second in the long run, above 0. */
  readonly perSecond: number
  /** Requests at once after a pause, at least 1. */
  readonly burst: number
}

/** Bytes of a request that count as one more request. */
const BYTES_PER_REQUEST = 64 * 1024
/** Time of a thread, ms, that counts as one more request. */
const MS_PER_REQUEST = 5

/**
 * How many requests the bytes and the work of one count as, beside itself: who sends a few large ones takes as much of a
 * server as who sends many.
 */
export function furtherRequests({ bytes = 0, ms = 0 }: { bytes?: number; ms?: number }): number {
  return Math.floor(bytes / BYTES_PER_REQUEST) + Math.floor(ms / MS_PER_REQUEST)
}

const NS_PER_MS = 1e6
const NS_PER_SECOND = 1e9

/**
 * Token bucket of one rate limit in one 64-bit word, which threads may share. The word is the time, in
 * ns, at which the bucket is full again ("Generic Cell Rate Algorithm", ITU-T I.371): one
 * compare-and-exchange takes from it, and nothing has to fill it.
 */
export class RateBucket {
  private readonly words: BigInt64Array<ArrayBufferLike>
  private readonly index: number
  private readonly burst: number
  private readonly nsEach: number
  private readonly capacityNs: bigint

  constructor(
    limit: RateLimit,
    words: BigInt64Array<ArrayBufferLike> = new BigInt64Array(1),
    index = 0,
  ) {
    this.words = words
    this.index = index
    this.burst = limit.burst
    this.nsEach = NS_PER_SECOND / limit.perSecond
    this.capacityNs = BigInt(Math.round(limit.burst * this.nsEach))
  }

  /**
   * Takes `count` requests at `nowMs`, a monotonic time that all sharing threads have in common. Returns
   * 0 if they are allowed, else the ms after which they will be. More than a burst at once is allowed
   * when the bucket is full, and paid for afterwards: otherwise it would never pass.
   */
  take(count: number, nowMs: number): number {
    const now = BigInt(Math.round(nowMs * NS_PER_MS))
    const costNs = BigInt(Math.round(count * this.nsEach))
    const neededNs = count <= this.burst ? costNs : this.capacityNs
    for (;;) {
      const stored = Atomics.load(this.words, this.index)
      const fullAt = stored > now ? stored : now
      const waitNs = fullAt + neededNs - now - this.capacityNs
      if (waitNs > 0n) return Number(waitNs) / NS_PER_MS
      const next = fullAt + costNs
      if (Atomics.compareExchange(this.words, this.index, stored, next) === stored) return 0
    }
  }

  /** Takes requests that have run already; the next ones wait for them. */
  spend(count: number, nowMs: number): void {
    const now = BigInt(Math.round(nowMs * NS_PER_MS))
    const costNs = BigInt(Math.round(count * this.nsEach))
    for (;;) {
      const stored = Atomics.load(this.words, this.index)
      const next = (stored > now ? stored : now) + costNs
      if (Atomics.compareExchange(this.words, this.index, stored, next) === stored) return
    }
  }
}
