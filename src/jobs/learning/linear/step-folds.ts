import { FIRST_COUNTED_STEP, InFlightLimit, MOST_COUNTED_STEPS } from '../in-flight-limit.ts'

/** Places that are tried for a step, so that a step costs no more where all are taken. */
const TRIES = 64
/** A ticket is the tag of the attempt and, below it, the number of the step's place. */
const PLACE_BITS = 16

/**
 * Counts, over all slots of an attempt, the blocks that have not folded a step yet. The example of the
 * step leaves the flight (`InFlightLimit`) with the last of them.
 */
export class StepFolds {
  private readonly limit: InFlightLimit
  private readonly words: Int32Array
  private next = 0

  /** `buffer`: of the attempt (`InFlightLimit.newBuffer`). */
  constructor(buffer: SharedArrayBuffer) {
    this.limit = new InFlightLimit(buffer)
    this.words = new Int32Array(buffer)
  }

  /**
   * A step of an example in flight goes to so many blocks. Returns the ticket of its parts; 0, and the example
   * leaves at once, where it has no parts, or where so many steps are counted that none of the places tried is free.
   */
  begin(blocks: number): number {
    for (let tries = blocks === 0 ? TRIES : 0; tries < TRIES; tries++) {
      const place = this.next
      this.next = (place + 1) % MOST_COUNTED_STEPS
      if (Atomics.compareExchange(this.words, FIRST_COUNTED_STEP + place, 0, blocks) === 0) {
        return ((this.limit.attemptTag << PLACE_BITS) | place) >>> 0
      }
    }
    this.limit.leave()
    return 0
  }

  /** A block has folded its part, or has refused it. A part of an attempt before counts nothing. */
  folded(ticket: number): void {
    if (ticket >>> PLACE_BITS !== this.limit.attemptTag) return
    const place = ticket & (MOST_COUNTED_STEPS - 1)
    if (Atomics.sub(this.words, FIRST_COUNTED_STEP + place, 1) === 1) this.limit.leave()
  }
}
