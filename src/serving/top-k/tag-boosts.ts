import type { TagBits } from '../../models/item-tags.ts'

/** A tag, by its bit, and what it multiplies scores with. */
export interface TagBoost {
  readonly bit: number
  /** Above 0. */
  readonly factor: number
}

/** Part of a bound that it is lowered by, so that rounding rules out no row: a score has 24 bits of 53. */
const SLACK = 1e-12

/**
 * Boosts of rows by their tags: a row has the product of the factors of its tags. The factor multiplies a score of 0 or more,
 * and divides a lower one, so that a factor above 1 always brings a row further up.
 */
export class TagBoosts {
  private readonly boosts: readonly TagBoost[]
  /** The largest factor that a row may have. */
  private readonly most: number

  constructor(boosts: readonly TagBoost[]) {
    this.boosts = boosts
    this.most = boosts.reduce((product, { factor }) => product * Math.max(1, factor), 1)
  }

  /** The factor of a row with these tags. */
  factorOf({ low, high }: TagBits): number {
    let product = 1
    for (const { bit, factor } of this.boosts) {
      const isSet = bit < 32 ? (low >>> bit) & 1 : (high >>> (bit - 32)) & 1
      if (isSet === 1) product *= factor
    }
    return product
  }

  /** No row with a score up to this one has more than `threshold` with its boosts. */
  boundOf(threshold: number): number {
    const bound = threshold >= 0 ? threshold / this.most : threshold * this.most
    return Number.isFinite(bound) ? bound - Math.abs(bound) * SLACK : bound
  }
}

/** A score with the factor of its row. */
export function boosted(score: number, factor: number): number {
  return score >= 0 ? score * factor : score / factor
}
