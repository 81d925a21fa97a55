import type { RowBatch } from '../../gpu/batches.ts'

/**
 * Consecutive batches with at most `mostRows` rows together, or one batch. The rows of a group are drawn together:
 * a draw has hundreds of operations, however many rows it has, and the products of a batch have a few.
 */
export function groupsOf(
  batches: readonly RowBatch[],
  mostRows: number,
): readonly (readonly RowBatch[])[] {
  const groups: RowBatch[][] = []
  let rows = Number.POSITIVE_INFINITY
  for (const batch of batches) {
    rows += batch.rows.length
    const group = groups.at(-1)
    if (group !== undefined && rows <= mostRows) group.push(batch)
    else {
      groups.push([batch])
      rows = batch.rows.length
    }
  }
  return groups
}
