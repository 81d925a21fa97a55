import { requireArgument } from '../../core/errors.ts'

/** Most ids: a JavaScript map holds no more. */
const MOST_IDS = 2 ** 24

/** Numbers of ids, in the order of their first appearance. */
export class IdNumbers {
  /** The ids by number. */
  readonly ids: string[] = []
  private readonly numbers = new Map<string, number>()
  private readonly most: number

  constructor(most: number = MOST_IDS) {
    this.most = most
  }

  /** The number of an id; the next one if it is new. Throws INVALID_ARGUMENT above the most ids. */
  of(id: string): number {
    const known = this.numbers.get(id)
    if (known !== undefined) return known
    const next = this.ids.length
    requireArgument(
      next < this.most,
      `at most ${this.most} users and as many items can be trained or evaluated; take a sample of the users`,
    )
    this.numbers.set(id, next)
    this.ids.push(id)
    return next
  }
}
