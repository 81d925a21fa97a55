import { requireArgument } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'

/**
 * Draws indexes in proportion to weights, in constant time (Walker's alias method as built by Vose,
 * 1991).
 */
export class AliasTable {
  private readonly probability: Float64Array
  private readonly alias: Uint32Array

  /** `weights` are not negative and not all zero. Throws INVALID_ARGUMENT. */
  constructor(weights: Float64Array) {
    const n = weights.length
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    requireArgument(total > 0 && Number.isFinite(total), 'weights need a finite sum above 0')
    this.probability = weights.map((weight) => (weight * n) / total)
    this.alias = new Uint32Array(n)
    this.pair()
  }

  /** Fills every column of less than average weight from one of more. */
  private pair(): void {
    const { probability, alias } = this
    const small: number[] = []
    const large: number[] = []
    for (const [i, p] of probability.entries()) (p < 1 ? small : large).push(i)
    while (small.length > 0 && large.length > 0) {
      const below = small.pop() as number
      const above = large.at(-1) as number
      alias[below] = above
      const rest = (probability[above] as number) - (1 - (probability[below] as number))
      probability[above] = rest
      if (rest < 1) small.push(large.pop() as number)
    }
    // The remaining columns have weight 1 up to rounding.
    for (const i of [...small, ...large]) probability[i] = 1
  }

  /** The next index; takes one number from `random`. */
  draw(random: Random): number {
    const at = random.next() * this.probability.length
    const column = Math.floor(at)
    return at - column < (this.probability[column] as number)
      ? column
      : (this.alias[column] as number)
  }
}
