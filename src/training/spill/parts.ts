import type { NamelessFile } from './nameless-file.ts'
import { readFully } from './nameless-file.ts'
import { RatingRecords, RECORD_BYTES, type RecordColumn } from './records.ts'

/** Records of a piece of the file that is read at a time. */
const PIECE_RECORDS = 1 << 18
/** Records of a part that are collected before they are written. */
const WRITE_RECORDS = 1 << 14

/** First rows of parts of at most `most` ratings, unless one row has more; then the number of rows. */
export function partRows(offsets: Uint32Array, most: number): Uint32Array {
  const rows = offsets.length - 1
  const starts = [0]
  for (let r = 1; r < rows; r++) {
    const first = offsets[starts.at(-1) as number] as number
    if ((offsets[r + 1] as number) - first > most) starts.push(r)
  }
  return Uint32Array.of(...starts, rows)
}

/** Ratings to divide, and where the parts are written. */
export interface Division {
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
