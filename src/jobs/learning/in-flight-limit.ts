import { kindOf, numberIn } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'

/**
 * Counts the observations in flight over all slots of an attempt, from their step to the fold of their
 * deltas, and limits them: a step on a row of long ago overshoots when many such steps are folded at
 * once, so further observations wait.
 */
export class InFlightLimit {
  private readonly words: Int32Array
  private readonly most: number
  private isFull = false

  /** `buffer`: of the attempt (`newBuffer`). `most`: observations in flight at most. @default no limit */
  constructor(buffer: SharedArrayBuffer, most: number = Number.POSITIVE_INFINITY) {
    checkArgument('new InFlightLimit', 'buffer', BUFFER, buffer)
    checkArgument('new InFlightLimit', 'most', numberIn({ min: 1, orInfinity: true }), most)
    this.words = new Int32Array(buffer)
    this.most = most
  }

  /** The count of a new attempt, for the limits of all its slots. */
  static newBuffer(): SharedArrayBuffer {
    return new SharedArrayBuffer(4)
  }

  /** Observations in flight. */
  get count(): number {
    return Atomics.load(this.words, 0)
  }

  /**
   * Whether the next observation may be taken. After the limit was reached, an eighth of it must have
   * left first, so that observations come in runs and not one by one.
   */
  admits(): boolean {
    const { most } = this
    if (most === Number.POSITIVE_INFINITY) return true
    const room = this.isFull ? Math.max(1, most / 8) : 1
    this.isFull = this.count > most - room
    return !this.isFull
  }

  /** An observation was taken. */
  enter(): void {
    Atomics.add(this.words, 0, 1)
  }

  /**
   * An observation was refused or its delta folded. After a restart, deltas of the attempt before leave
   * too, although this attempt did not count them: the count never falls below 0.
   */
  leave(): void {
    if (Atomics.load(this.words, 0) > 0) Atomics.sub(this.words, 0, 1)
  }
}

const BUFFER = kindOf<SharedArrayBuffer>(
  'a SharedArrayBuffer: InFlightLimit.newBuffer()',
  (given) => given instanceof SharedArrayBuffer,
)
