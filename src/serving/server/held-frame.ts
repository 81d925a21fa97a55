import type { ByteBudget } from '../../access/byte-budget.ts'
import { WeirError } from '../../core/errors.ts'

/** Bytes of a frame that is not whole from which they are counted; every connection may hold fewer. */
const COUNTED_BYTES = 128 * 1024
/** Time from which a counted frame must be whole, ms. */
const WHOLE_MS = 30_000

/** The bytes of a connection's frame that is not whole yet, in the budget of its server. */
export class HeldFrame {
  private readonly budget: ByteBudget
  private client = ''
  private bytes = 0
  private sinceMs = 0

  constructor(budget: ByteBudget) {
    this.budget = budget
  }

  /** Whether bytes are counted, or so many would be. */
  concerns(bytes: number): boolean {
    return this.bytes > 0 || bytes >= COUNTED_BYTES
  }

  /** Notes how many bytes are held now. Throws OVERLOADED when there is no room for them. */
  note(client: string, bytes: number, nowMs: number): void {
    const counted = bytes < COUNTED_BYTES ? 0 : bytes
    if (counted === this.bytes) return
    if (this.bytes === 0 || counted < this.bytes) this.sinceMs = nowMs
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

  /** Throws DEADLINE_EXCEEDED for a frame that has not become whole in time. */
  check(nowMs: number): void {
    if (this.bytes === 0 || nowMs - this.sinceMs <= WHOLE_MS) return
    throw new WeirError(
      'DEADLINE_EXCEEDED',
      `a frame of more than ${this.bytes} bytes was not whole within ${WHOLE_MS} ms`,
    )
  }

  /** The connection holds nothing. */
  release(): void {
    this.budget.give(this.client, this.bytes)
    this.bytes = 0
  }
}
