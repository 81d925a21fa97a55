import type { Random } from '../../../core/random.ts'
import { seededRandom } from '../../../core/random.ts'
import { AliasTable } from '../../../models/ratings/alias-table.ts'

/** The distribution of keys: all alike, or Zipf with exponent 0.99 as in YCSB. */
export type KeyDistribution = 'uniform' | 'zipf'

const ZIPF_EXPONENT = 0.99

/** Draws a whole number, 0 <= n < count. */
export type IdDrawer = (random: Random) => number

/** Draws of a distribution over `count` numbers. */
export function idDrawer(count: number, distribution: KeyDistribution): IdDrawer {
  if (distribution === 'uniform') return (random) => random.below(count)
  const weights = Float64Array.from({ length: count }, (_, rank) => (rank + 1) ** -ZIPF_EXPONENT)
  const ranks = new AliasTable(weights)
  const idOfRank = shuffled(count)
  // If popular ids were neighbours in the row table, the processor's cache would make them too fast.
  return (random) => idOfRank[ranks.draw(random)]!
}

function shuffled(count: number): Uint32Array {
  const random = seededRandom(count)
  const ids = Uint32Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const kept = ids[i]!
    ids[i] = ids[j]!
    ids[j] = kept
  }
  return ids
}
