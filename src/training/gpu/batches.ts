/** Rows of one side with about the same number of ratings, for one run of a graph. */
export interface RowBatch {
  /** Row numbers, in the side's order. */
  readonly rows: Uint32Array
  /** Ratings of each row after padding. */
  readonly length: number
}

/** The rows of a side in the order in which the GPU stores them. */
export interface BatchedSide {
  readonly batches: readonly RowBatch[]
  /** Position of row r of the side in all batches, one after the other. */
  readonly positions: Uint32Array
}

/** Rows of one side: ratings of row r are those from offsets[r] to offsets[r + 1]. */
export interface RatedRows {
  readonly rows: number
  readonly offsets: Uint32Array
}

/** How many rows fit into a batch. */
export interface BatchLimit {
  /** Most floats of the largest tensor of a batch; a row that needs more is a batch of its own. */
  readonly floats: number
  /** Floats of this tensor that a row with `length` ratings after padding has. */
  floatsOfRow(length: number): number
}

const SHORTEST = 8

/**
 * The length to which `count` ratings are padded: 8, 12, 16, 24, 32, 48 ... A row of more than 8
 * ratings grows by less than half, and there are few different shapes.
 */
export function paddedLength(count: number): number {
  let power = SHORTEST
  while (power * 2 < count) power *= 2
  if (count <= power) return power
  return count <= power * 1.5 ? power * 1.5 : power * 2
}

/** Groups the rows of a side by padded length into batches. */
export function batchSide(side: RatedRows, { floats, floatsOfRow }: BatchLimit): BatchedSide {
  const batches: RowBatch[] = []
  for (const [length, rows] of [...rowsByLength(side)].sort(([a], [b]) => a - b)) {
    const most = Math.max(1, Math.floor(floats / floatsOfRow(length)))
    for (let at = 0; at < rows.length; at += most) {
      batches.push({ rows: Uint32Array.from(rows.slice(at, at + most)), length })
    }
  }
  const positions = new Uint32Array(side.rows)
  let position = 0
  for (const { rows } of batches) for (const row of rows) positions[row] = position++
  return { batches, positions }
}

function rowsByLength({ rows, offsets }: RatedRows): Map<number, number[]> {
  const byLength = new Map<number, number[]>()
  for (let row = 0; row < rows; row++) {
    const length = paddedLength(offsets[row + 1]! - offsets[row]!)
    const same = byLength.get(length)
    if (same === undefined) byLength.set(length, [row])
    else same.push(row)
  }
  return byLength
}
