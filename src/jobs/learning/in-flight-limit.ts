import { kindOf, numberIn, wholeNumber } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'

/** Steps whose blocks can be counted at a time (`StepFolds`). */
export const MOST_COUNTED_STEPS = 16_384
/** Word of the first of them. */
export const FIRST_COUNTED_STEP = 2
/** Tags of attempts are 1 to this number. */
const MOST_TAGS = 0xffff

/**
 * Counts the observations in flight over all slots of an attempt, from their step to the fold of their
 * deltas, and limits them: a step on a row of long ago overshoots when many such steps are folded at
 * once, so further observations wait.
 *
 * Of the observations that an attempt takes, no more than the limit are between their step and the fold of their delta:
 * exactly with `tryEnter`; where slots ask `admits` and then `enter`, each but one of those that find the last room at once may
 * add one. A delta that an earlier attempt sent, by its tag, never makes room for one of this attempt: it is counted from
 * where it is read to its fold, besides the limit, so that further observations wait for it. What is
 * not read yet of the deltas' topic is not counted; a partition is read in its order, so that this attempt's own deltas come
 * after all of those before them.
 *
 * The shared memory of an attempt, words of 32 bits:
 *
 *   | observations in flight | tag of the attempt | by step, blocks that have not folded it: 0 or more, ... |
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

  /** The count of a new attempt, for the limits of all its slots. `startMs`: when it began. */
  static newBuffer(startMs: number = 0): SharedArrayBuffer {
    checkArgument('InFlightLimit.newBuffer', 'startMs', wholeNumber({ min: 0 }), startMs)
    const buffer = new SharedArrayBuffer(4 * (FIRST_COUNTED_STEP + MOST_COUNTED_STEPS))
    new Int32Array(buffer)[1] = 1 + (startMs % MOST_TAGS)
    return buffer
  }

  /** Tag of the attempt in its deltas, which no other attempt near it has: 1 to 65,535; 0 where its buffer has none. */
  get attemptTag(): number {
    return this.words[1] ?? 0
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

  /** Takes an observation, if it is admitted: also where all slots try at once, no more than the limit are in flight. */
  tryEnter(): boolean {
    if (!this.admits()) return false
    if (Atomics.add(this.words, 0, 1) < this.most) return true
    Atomics.sub(this.words, 0, 1)
    return false
  }

  /**
   * An observation was refused or its delta folded. Records that an unaligned checkpoint restores behind the place where
   * they are counted leave, too: the count never falls below 0.
   */
  leave(): void {
    if (Atomics.load(this.words, 0) > 0) Atomics.sub(this.words, 0, 1)
  }
}

const BUFFER = kindOf<SharedArrayBuffer>(
  'a SharedArrayBuffer: InFlightLimit.newBuffer()',
  (given) => given instanceof SharedArrayBuffer,
)
