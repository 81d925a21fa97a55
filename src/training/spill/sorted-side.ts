import { NamelessFile, readFully } from './nameless-file.ts'
import { RatingRecords, RECORD_BYTES, type RecordColumn } from './records.ts'
import type { SpilledSide } from './spilled-ratings.ts'

/** Options of `sortSide`. */
export interface SideToSort {
  /** The ratings as they came. */
  readonly records: NamelessFile
  readonly column: RecordColumn
  /** Number of ratings of each row, and of rows of the other side. */
  readonly counts: Uint32Array
  readonly others: number
  /** Most ratings that are sorted in memory at a time, unless one row has more. */
  readonly partRatings: number
  /** Whether the ratings of one pair become one: their sum. */
  readonly sumsPairs: boolean
  /** Folder of the files. */
  readonly folder: string
  /** Waits a moment, so that the thread can do other things; gets the share that is done. */
  readonly breathe: (done: number) => Promise<void>
}

/** A sorted side with the files that it owns. */
export interface SortedSide extends SpilledSide, Disposable {
  /** Of the sums of pairs; nothing is in it where ratings stay as they came. */
  readonly statistics: RatingSums
}

/** Sum, smallest and largest of ratings, one after the other. */
export class RatingSums {
  sum = 0
  min = Number.POSITIVE_INFINITY
  max = Number.NEGATIVE_INFINITY

  add(rating: number): void {
    this.sum += rating
    if (rating < this.min) this.min = rating
    if (rating > this.max) this.max = rating
  }
}

/** Share of the work that dividing takes; the rest is sorting. */
const DIVIDING = 0.3

/**
 * Sorts ratings by row, then by row of the other side; those of one pair keep their order. First they are
 * divided into parts of consecutive rows, each of which fits in memory; then each part is sorted and
 * appended to the files of the side. Every file is read and written from its beginning to its end.
 */
export async function sortSide(side: SideToSort): Promise<SortedSide> {
  const { counts, partRatings, column, records, folder, breathe } = side
  const offsets = offsetsOf(counts)
  const rows = partRows(offsets, partRatings)
  // What is summed is known when a part is sorted.
  const kept = side.sumsPairs ? sharedOffsets(counts.length) : offsets
  const statistics = new RatingSums()
  const means = new Float64Array(counts.length)
  const [indexes, ratings] = [new NamelessFile(folder), new NamelessFile(folder)]
  const sorted: SortedSide = {
    offsets: kept,
    means,
    statistics,
    files: { indexes: indexes.descriptor, ratings: ratings.descriptor },
    [Symbol.dispose]() {
      indexes[Symbol.dispose]()
      ratings[Symbol.dispose]()
    },
  }
  try {
    using parts = new NamelessFile(folder)
    for (const done of divide({ from: records, to: parts, column, offsets, rows })) {
      await breathe(done * DIVIDING)
    }
    for (let part = 0; part + 1 < rows.length; part++) {
      const [first, end] = [rows[part] as number, rows[part + 1] as number]
      sortPart(parts, side, { first, end, offsets, kept, means, statistics, indexes, ratings })
      await breathe(DIVIDING + ((1 - DIVIDING) * (part + 1)) / (rows.length - 1))
    }
    return sorted
  } catch (error) {
    sorted[Symbol.dispose]()
    throw error
  }
}

/** Number of ratings before each row, then their number; in shared memory. */
function offsetsOf(counts: Uint32Array): Uint32Array {
  const offsets = sharedOffsets(counts.length)
  for (let r = 0; r < counts.length; r++) {
    offsets[r + 1] = (offsets[r] as number) + (counts[r] as number)
  }
  return offsets
}

function sharedOffsets(rows: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer((rows + 1) * 4))
}

interface PartTarget {
  /** First row of the part, and the first of the next. */
  readonly first: number
  readonly end: number
  readonly offsets: Uint32Array
  /** The offsets of the ratings that are written: `offsets` themselves, or those of sums. */
  readonly kept: Uint32Array
  readonly means: Float64Array
  readonly statistics: RatingSums
  readonly indexes: NamelessFile
  readonly ratings: NamelessFile
}

/** Sorts one part by two stable counting sorts, first by the other side's rows. */
function sortPart(parts: NamelessFile, side: SideToSort, target: PartTarget): void {
  const { first, end, offsets } = target
  const start = offsets[first] as number
  const count = (offsets[end] as number) - start
  const records = new RatingRecords(count)
  readFully(parts.descriptor, records.bytes(0, count), start * RECORD_BYTES)
  const otherColumn = side.column === 0 ? 1 : 0
  const byOther = orderBy(records, otherColumn, side.others)
  const indexes = new Uint32Array(count)
  const ratings = new Float32Array(count)
  const next = offsets.slice(first, end)
  for (const at of byOther) {
    const row = records.number(at, side.column) - first
    const to = (next[row] as number) - start
    next[row] = (next[row] as number) + 1
    indexes[to] = records.number(at, otherColumn)
    ratings[to] = records.rating(at)
  }
  const written = side.sumsPairs ? sumPairs(indexes, ratings, target) : count
  writeMeans(ratings, target)
  target.indexes.append(new Uint8Array(indexes.buffer, 0, written * 4))
  target.ratings.append(new Uint8Array(ratings.buffer, 0, written * 4))
}

/** Sums the ratings of each pair, which lie together, and moves the sums to the front; returns their number. */
function sumPairs(
  indexes: Uint32Array,
  ratings: Float32Array,
  { first, end, offsets, kept, statistics }: PartTarget,
): number {
  const start = offsets[first] as number
  let to = 0
  for (let row = first; row < end; row++) {
    const from = to
    const last = (offsets[row + 1] as number) - start
    let sum = 0
    for (let k = (offsets[row] as number) - start; k < last; k++) {
      const index = indexes[k] as number
      const isNext = to === from || indexes[to - 1] !== index
      sum = (isNext ? 0 : sum) + (ratings[k] as number)
      if (isNext) to += 1
      indexes[to - 1] = index
      ratings[to - 1] = sum
    }
    kept[row + 1] = (kept[row] as number) + to - from
  }
  for (let k = 0; k < to; k++) statistics.add(ratings[k] as number)
  return to
}

/** Positions of the records in the order of a column, equal ones in their order. */
function orderBy(records: RatingRecords, column: RecordColumn, numbers: number): Uint32Array {
  const count = records.words.length / 3
  const next = new Uint32Array(numbers + 1)
  for (let at = 0; at < count; at++) {
    const slot = records.number(at, column) + 1
    next[slot] = (next[slot] as number) + 1
  }
  for (let n = 0; n < numbers; n++) next[n + 1] = (next[n + 1] as number) + (next[n] as number)
  const order = new Uint32Array(count)
  for (let at = 0; at < count; at++) {
    const number = records.number(at, column)
    const to = next[number] as number
    next[number] = to + 1
    order[to] = at
  }
  return order
}

function writeMeans(ratings: Float32Array, { first, end, kept, means }: PartTarget): void {
  const start = kept[first] as number
  for (let row = first; row < end; row++) {
    const [from, to] = [kept[row] as number, kept[row + 1] as number]
    let sum = 0
    for (let k = from; k < to; k++) sum += ratings[k - start] as number
    means[row] = sum / (to - from)
  }
}

/** Records of a piece of the file that is read at a time. */
const PIECE_RECORDS = 1 << 18
/** Records of a part that are collected before they are written. */
const WRITE_RECORDS = 1 << 14

/** First rows of parts of at most `most` ratings, unless one row has more; then the number of rows. */
function partRows(offsets: Uint32Array, most: number): Uint32Array {
  const rows = offsets.length - 1
  const starts = [0]
  for (let r = 1; r < rows; r++) {
    const first = offsets[starts.at(-1) as number] as number
    if ((offsets[r + 1] as number) - first > most) starts.push(r)
  }
  return Uint32Array.of(...starts, rows)
}

/** Ratings to divide, and where the parts are written. */
interface Division {
  /** Records in any order. */
  readonly from: NamelessFile
  /** Gets the parts one after the other, each with its records in the order of `from`. */
  readonly to: NamelessFile
  /** Column by whose rows the records are divided. */
  readonly column: RecordColumn
  /** Number of ratings before each row; its last element is their number. */
  readonly offsets: Uint32Array
  /** First row of each part, then the number of rows. */
  readonly rows: Uint32Array
}

/** Divides records into parts of rows, with a few buffers in memory. Yields the share that is done. */
export function* divide({ from, to, column, offsets, rows }: Division): Generator<number> {
  const partOf = partsOfRows(rows)
  const writers = Array.from(rows.subarray(0, -1), (row) => new PartWriter(to, offsets[row] ?? 0))
  const piece = new RatingRecords(PIECE_RECORDS)
  const total = from.size / RECORD_BYTES
  for (let done = 0; done < total; done += PIECE_RECORDS) {
    const count = Math.min(PIECE_RECORDS, total - done)
    readFully(from.descriptor, piece.bytes(0, count), done * RECORD_BYTES)
    for (let at = 0; at < count; at++) {
      writers[partOf[piece.number(at, column)] as number]?.add(piece, at)
    }
    yield (done + count) / total
  }
  for (const writer of writers) writer.flush()
}

function partsOfRows(rows: Uint32Array): Uint32Array {
  const parts = new Uint32Array(rows.at(-1) ?? 0)
  for (let part = 0; part + 1 < rows.length; part++) {
    parts.fill(part, rows[part], rows[part + 1])
  }
  return parts
}

/** Collects the records of one part. */
class PartWriter {
  private readonly file: NamelessFile
  private readonly waiting = new RatingRecords(WRITE_RECORDS)
  private used = 0
  /** Record of the file where the waiting ones go. */
  private position: number

  constructor(file: NamelessFile, position: number) {
    this.file = file
    this.position = position
  }

  add(records: RatingRecords, at: number): void {
    this.waiting.copy(this.used++, records, at)
    if (this.used === WRITE_RECORDS) this.flush()
  }

  flush(): void {
    this.file.write(this.waiting.bytes(0, this.used), this.position * RECORD_BYTES)
    this.position += this.used
    this.used = 0
  }
}
