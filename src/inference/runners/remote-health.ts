import type { Cancel, Clock } from '../../core/clock.ts'
import { isWeirError, type WeirError } from '../../core/errors.ts'
import { Outage } from '../../core/lifetime/outage.ts'
import { waitIn } from '../../core/lifetime/wait.ts'
import { RemoteServer } from './remote-exchange.ts'

/** Pause between two questions, and time in which each is answered, ms: an outage is said within 5 s. */
const PAUSE_MS = 1_500
const ANSWER_MS = 3_000
const MAX_BYTES = 64 * 1024

/**
 * Whether a server of the Open Inference Protocol answers. It is asked again and again, also without requests. Any
 * answer counts: one server says 200 and another 404 at `/v2/health/live`.
 */
export class RemoteHealth implements Disposable {
  private readonly server: RemoteServer
  private readonly clock: Clock
  private readonly outage: Outage
  private cancel: Cancel | undefined
  private isClosed = false
  /** Why it does not answer, once that is said. */
  private why: string | undefined

  /** `say`: takes the notices of outages. Throws ACCESS_DENIED for an address that no model may call. */
  constructor(url: string, clock: Clock, say: (notice: WeirError) => void) {
    this.server = new RemoteServer(url)
    this.clock = clock
    this.outage = new Outage(`the model server ${this.server.name}`, clock, (notice) => {
      this.why = waitIn(notice.details)?.wait?.why
      say(notice)
    })
    this.askLater()
  }

  /** Why the server does not answer; undefined while it does. */
  get problem(): string | undefined {
    return this.why
  }

  private askLater(): void {
    if (this.isClosed) return
    this.cancel = this.clock.after(PAUSE_MS, () => void this.ask().finally(() => this.askLater()))
  }

  private async ask(): Promise<void> {
    const startedMs = this.clock.monotonicMs()
    try {
      await this.server.exchange({
        path: '/v2/health/live',
        timeoutMs: ANSWER_MS,
        maxBytes: MAX_BYTES,
      })
    } catch (error) {
      if (this.isClosed) return
      // Other errors are those of an answer.
      if (isWeirError(error, 'MODEL_NOT_LOADED')) return this.outage.failed(startedMs, error)
    }
    this.outage.ended()
  }

  [Symbol.dispose](): void {
    this.isClosed = true
    this.cancel?.()
    this.server.close()
  }
}
