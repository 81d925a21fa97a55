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

/**
 * Ratings of a segment of a long row. A product over the ratings of a row is one workgroup of the GPU, which
 * walks over them; the segments of a long row are walked over at the same time.
 */
export const SEGMENT_RATINGS = 128

/** Whether rows of this padded length, then a multiple of `SEGMENT_RATINGS`, are summed in segments. */
export const isSegmented = (length: number): boolean => length >= 2 * SEGMENT_RATINGS

/** Most floats of the largest tensor of a batch by default: 128 MiB, which every device has in one buffer. */
export const BATCH_FLOATS = 2 ** 25

/** How many rows fit into a batch. */
export interface BatchLimit {
  /** Most floats of the largest tensor of a batch; a row that needs more is a batch of its own. */
  readonly floats: number
  /** Floats of this tensor that a row with `length` ratings after padding has. */
  floatsOfRow(length: number): number
}

const SHORTEST = 8

/**
 * Most floats for which rows are padded to the next length, so that there are fewer batches: an operation on 8 MiB
 * takes a GPU about as long as starting it.
 */
const FEW_FLOATS = 2 ** 21

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

/**
 * Groups the rows of a side by padded length into batches. Where few rows have a length, they get the next
 * longer one.
 */
export function batchSide(side: RatedRows, limit: BatchLimit): BatchedSide {
  const { floats, floatsOfRow } = limit
  const batches: RowBatch[] = []
  for (const { length, rows } of fuller(rowsByLength(side), limit)) {
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

/** Rows of one padded length. */
interface RowsOfLength {
  readonly length: number
  readonly rows: readonly number[]
}

/** The lengths in ascending order, without those whose rows fill little of a batch of the next length. */
function fuller(
  byLength: ReadonlyMap<number, readonly number[]>,
  { floats, floatsOfRow }: BatchLimit,
): RowsOfLength[] {
  const few = Math.min(FEW_FLOATS, floats / 16)
  const lengths = [...byLength.keys()].sort((a, b) => a - b)
  const result: RowsOfLength[] = []
  let waiting: readonly number[] = []
  for (const [i, length] of lengths.entries()) {
    const rows = [...waiting, ...byLength.get(length)!]
    const next = lengths[i + 1]
    const joinsNext = next !== undefined && rows.length * floatsOfRow(next) <= few
    if (!joinsNext) result.push({ length, rows })
    waiting = joinsNext ? rows : []
  }
  return result
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
