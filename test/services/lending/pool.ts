/** A service that is lent to one test file at a time. */
export interface Pooled {
  /** What the file must know: addresses, secrets. */
  readonly access: object
  /** Removes what a file has left. Rejects when the service is of no further use. */
  clear(): Promise<void>
  stop(): Promise<void>
}

/** What lends to test files, to each until it gives it back. */
export interface Lender {
  take(): Promise<Pooled>
  giveBack(pooled: Pooled): Promise<void>
  stop(): Promise<void>
}

/**
 * Services of one kind. One is started when none is free, so there are as many as files use one at the same time. A
 * service is cleared before it is lent again.
 */
export class Pool implements Lender {
  private readonly start: () => Promise<Pooled>
  private readonly all: Promise<Pooled>[] = []
  private readonly free: Pooled[] = []
  private readonly returning = new Set<Promise<void>>()
  private stopped = false

  constructor(start: () => Promise<Pooled>) {
    this.start = start
  }

  /** A free service, or a new one. */
  async take(): Promise<Pooled> {
    const free = this.free.pop()
    if (free !== undefined) return free
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
      this.free.push(pooled)
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
