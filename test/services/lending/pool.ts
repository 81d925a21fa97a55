/** A service that is lent to one test file at a time. */
export interface Pooled {
  /** What the file must know: addresses, secrets. */
  readonly access: object
  /** Removes what a file has left. Rejects when the service is of no further use. */
  clear(): Promise<void>
  stop(): Promise<void>
}

/**
 * Services of one kind. One is started when none is free, so there are as many as files use one at the same time, up
 * to a limit: then a file waits for its turn. A service is cleared before it is lent again.
 */
export class Pool {
  private readonly start: () => Promise<Pooled>
  private readonly all: Promise<Pooled>[] = []
  private readonly free: Pooled[] = []
  private readonly returning = new Set<Promise<void>>()
  private readonly most: number
  private readonly waiting: ((pooled: Pooled) => void)[] = []
  private stopped = false

  constructor(start: () => Promise<Pooled>, most = Number.POSITIVE_INFINITY) {
    this.start = start
    this.most = most
  }

  /** A free service, or a new one. */
  async take(): Promise<Pooled> {
    const free = this.free.pop()
    if (free !== undefined) return free
    if (this.all.length >= this.most) return await new Promise((turn) => this.waiting.push(turn))
    const started = this.start()
    this.all.push(started)
    return await started
  }

  /** Takes a service back. One that cannot be cleared is stopped. */
  async giveBack(pooled: Pooled): Promise<void> {
    if (this.stopped) return
    const returning = this.clear(pooled)
    this.returning.add(returning)
    await returning
    this.returning.delete(returning)
  }

  private async clear(pooled: Pooled): Promise<void> {
    try {
      await pooled.clear()
      const next = this.waiting.shift()
      if (next === undefined) this.free.push(pooled)
      else next(pooled)
    } catch {
      await pooled.stop()
    }
  }

  /** Stops all services, after those that are being cleared. */
  async stop(): Promise<void> {
    this.stopped = true
    await Promise.all(this.returning)
    const started = await Promise.allSettled(this.all)
    await Promise.all(started.map((one) => (one.status === 'fulfilled' ? one.value.stop() : null)))
  }
}
