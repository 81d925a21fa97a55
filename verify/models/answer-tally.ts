/** Counts of a thread that asks, of its requests by their end. */
export interface TallyCounts {
  readonly right: number
  /** Answers with outputs that are no request's of this thread, or another open one's. */
  readonly wrong: number
  /** Answers of a request that had ended before. */
  readonly answeredTwice: number
  /** Requests that have not ended at all. */
  readonly open: number
}

/** Bits of the number that are in the second float: both are whole, and small enough to be doubled exactly. */
const LOW = 2 ** 20

/**
 * Requests of one thread, each with a number that its inputs carry and its outputs show. So an answer says whose it is: one
 * of a request that has ended is a second answer, whoever gets it.
 */
export class AnswerTally {
  private readonly open = new Set<number>()
  private readonly first: number
  private next: number
  private right = 0
  private wrong = 0
  private answeredTwice = 0

  /** `first` is the number of the first request. */
  constructor(first: number) {
    this.first = first
    this.next = first
  }

  /** The number of a new request. */
  ask(): number {
    this.open.add(this.next)
    return this.next++
  }

  /** Two floats that carry the number of a request. */
  floatsOf(request: number): [number, number] {
    return [Math.floor(request / LOW), request % LOW]
  }

  /** Counts an answer to a request, from outputs that are twice its floats. */
  answered(request: number, outputs: readonly number[]): void {
    this.open.delete(request)
    const [high, low] = outputs
    const owner = outputs.length === 2 ? (high! / 2) * LOW + low! / 2 : Number.NaN
    if (owner === request) this.right++
    else if (this.hasEnded(owner)) this.answeredTwice++
    else this.wrong++
  }

  /** Counts the end of a request without an answer. */
  failed(request: number): void {
    this.open.delete(request)
  }

  get counts(): TallyCounts {
    const { right, wrong, answeredTwice } = this
    return { right, wrong, answeredTwice, open: this.open.size }
  }

  private hasEnded(request: number): boolean {
    return (
      Number.isInteger(request) &&
      request >= this.first &&
      request < this.next &&
      !this.open.has(request)
    )
  }
}
