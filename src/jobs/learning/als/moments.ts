import { RowMoments } from '../../../models/als/row-moments.ts'
import type { RowTableReader } from '../../../state/rows/reader.ts'

/** Most multiplications for the moments of one side's rows of a slot: about 0.1 s. */
const WORK = 5e7

/**
 * Moments of the rows of one table. `meanOnly`: the mean alone, which the table keeps. Rows that are
 * spilled or being written are left out; of a large table only the first rows are measured.
 */
export function tableMoments(
  table: RowTableReader | undefined,
  dimension: number,
  meanOnly: boolean,
): RowMoments {
  const moments = new RowMoments(dimension, meanOnly)
  if (table === undefined) return moments
  if (meanOnly) {
    const sums = new Float64Array(dimension)
    const count = table.addMeanInto(0, sums)
    if (count > 0) moments.addSums(count, sums)
    return moments
  }
  const row = new Float32Array(dimension)
  const most = Math.ceil((2 * WORK) / (dimension * dimension))
  const { rowsPerSegment, rowShift } = table.layout
  for (let segment = 0; segment < table.segments; segment++) {
    if (!table.hasRows(segment)) continue
    const first = segment << rowShift
    for (let number = first; number < first + rowsPerSegment; number++) {
      if (moments.count >= most) return moments
      const sequence = table.openRow(number)
      if ((sequence & 1) !== 0 || !table.isLive(number)) continue
      if (table.readInto(number, sequence, row, 0)) moments.add(row)
    }
  }
  return moments
}
