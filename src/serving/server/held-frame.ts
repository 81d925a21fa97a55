import { WeirError } from '../../core/errors.ts'
import type { ByteBudget } from '../../http/access/byte-budget.ts'

/** Bytes of a frame that is not whole from which they are counted; every connection may hold fewer. */
const COUNTED_BYTES = 128 * 1024
/** Time in which a frame must be whole, ms. */
const WHOLE_MS = 10_000

/** The bytes of a connection's frame that is not whole yet, in the budget of its server. */
export class HeldFrame {
  private readonly budget: ByteBudget
  private client = ''
  private bytes = 0
  /** When a part of the frame was first seen; undefined without one. */
  private partSinceMs: number | undefined

  constructor(budget: ByteBudget) {
    this.budget = budget
  }

  /** Whether bytes are counted, or so many would be. */
  concerns(bytes: number): boolean {
    return this.bytes > 0 || bytes >= COUNTED_BYTES
  }

  /** Notes how many bytes are held now. Throws OVERLOADED when there is no room for them. */
  note(client: string, bytes: number): void {
    const counted = bytes < COUNTED_BYTES ? 0 : bytes
    if (counted === this.bytes) return
    this.release()
    if (counted === 0) return
    if (!this.budget.tryTake(client, counted)) {
      throw new WeirError(
        'OVERLOADED',
        `the server has no room for a frame of more than ${counted} bytes now; send fewer large frames at the same time`,
      )
    }
    this.client = client
    this.bytes = counted
  }

  /**
   * Call it about once a second, with whether the connection waits for the rest of a frame, and when a frame was last
   * whole. Throws DEADLINE_EXCEEDED for a frame that has not become whole in time.
   */
  check(isPart: boolean, lastWholeMs: number, nowMs: number): void {
    if (!isPart) this.partSinceMs = undefined
    else if (this.partSinceMs === undefined || lastWholeMs > this.partSinceMs) {
      this.partSinceMs = nowMs
    } else if (nowMs - this.partSinceMs > WHOLE_MS) {
      throw new WeirError('DEADLINE_EXCEEDED', `a frame was not whole within ${WHOLE_MS} ms`)
    }
  }

  /** The connection holds nothing. */
  release(): void {
    this.budget.give(this.client, this.bytes)
    this.bytes = 0
  }
}
