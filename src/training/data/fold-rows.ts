import { requireArgument } from '../../core/errors.ts'
import { seededRandom } from '../../core/random.ts'

/** Row numbers in two parts. */
export interface RowSplit {
  readonly train: Uint32Array
  readonly test: Uint32Array
}

/**
 * `folds` splits of the rows 0 to `rows` - 1. Each row is in exactly one test part; the sizes of the
 * test parts differ by at most one. Throws INVALID_ARGUMENT.
 */
export function foldRows(rows: number, folds: number, seed = 1): readonly RowSplit[] {
  requireArgument(
    Number.isSafeInteger(folds) && folds >= 2 && folds <= rows,
    `the number of folds must be a whole number from 2 to the number of rows, not ${folds}`,
  )
  const random = seededRandom(seed)
  const order = Uint32Array.from({ length: rows }, (_, row) => row)
  for (let i = rows - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const row = order[i] as number
    order[i] = order[j] as number
    order[j] = row
  }
  return Array.from({ length: folds }, (_, fold) => ({
    test: order.filter((_, at) => at % folds === fold).sort(),
    train: order.filter((_, at) => at % folds !== fold).sort(),
  }))
}
