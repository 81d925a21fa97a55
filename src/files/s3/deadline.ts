import type { Cancel, Clock } from '../../core/clock.ts'

/** Slowest transfer that a request may have, bytes a ms. */
const SLOWEST_BYTES_PER_MS = 64

/**
 * End of the time of one request: the longest silence, and time for its bytes at 64 kB/s, so that a server that sends a
 * byte now and then does not hold a request without an end.
 */
export class Deadline {
  private readonly clock: Clock
  private readonly timeoutMs: number
  private readonly controller = new AbortController()
  private cancel: Cancel = () => {}

  /** `timeoutMs`: longest silence, ms; `bytes` is what the request sends. */
  constructor(clock: Clock, timeoutMs: number, bytes: number) {
    this.clock = clock
    this.timeoutMs = timeoutMs
    this.allow(bytes)
  }

  /** Aborted when the time is over. */
  get signal(): AbortSignal {
    return this.controller.signal
  }

  /** Begins the time again, for so many bytes. */
  allow(bytes: number): void {
    this.cancel()
    const forMs = this.timeoutMs + bytes / SLOWEST_BYTES_PER_MS
    this.cancel = this.clock.after(forMs, () => {
      const seconds = Math.round(forMs / 100) / 10
      const error = Object.assign(new Error(`no whole answer within ${seconds} s`), {
        name: 'TimeoutError',
      })
      this.controller.abort(error)
    })
  }

  /** The outcome of `action`, or the rejection of the deadline when that comes first. */
  async limit<T>(action: Promise<T>): Promise<T> {
    const { signal } = this
    const over = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    over.catch(() => undefined)
    try {
      return await Promise.race([action, over])
    } catch (error) {
      action.catch(() => undefined)
      throw signal.aborted ? signal.reason : error
    }
  }

  /** The request is done. */
  end(): void {
    this.cancel()
  }
}
