import { requireWholeNumber } from '../../core/whole-number.ts'
import { HotWeights } from './hot-weights.ts'
import type { WeightTables } from './weight-blocks.ts'

/** Default of `hotWeights`: 1.5 MB for each version and thread. */
export const DEFAULT_HOT_WEIGHTS = 65_536
const MOST_HOT_WEIGHTS = 2 ** 24

/** The copies of one thread, by version of a model. A version has some once blocks of it are spilled. */
export class HotWeightsOfVersions {
  private readonly features: number
  private readonly copies = new WeakMap<WeightTables, HotWeights>()

  /** `features`: copies for each version; 0 for none. Throws INVALID_ARGUMENT. */
  constructor(features = DEFAULT_HOT_WEIGHTS) {
    requireWholeNumber('hotWeights', features, { min: 0, max: MOST_HOT_WEIGHTS })
    this.features = features
  }

  /** The copies of a version, up to date; undefined where all of its blocks are in memory. */
  of(tables: WeightTables): HotWeights | undefined {
    if (this.features === 0 || !isSpilled(tables)) return undefined
    let hot = this.copies.get(tables)
    if (hot === undefined) {
      hot = new HotWeights(this.features)
      this.copies.set(tables, hot)
    }
    hot.refresh(tables.readers)
    return hot
  }
}

function isSpilled({ readers }: WeightTables): boolean {
  for (let n = 0; n < readers.length; n++) if (readers[n]!.storeRows > 0) return true
  return false
}
