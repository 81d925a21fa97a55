/**
 * Ratings in a spill file, as they came or in parts of rows; 12 bytes in the machine's order:
 *
 *   +-----------+-----------+------------+
 *   | u32 user  | u32 item  | f32 rating |
 *   +-----------+-----------+------------+
 */
export class RatingRecords {
  /** Two numbers and the bits of the rating of each record. */
  readonly words: Uint32Array
  private readonly floats: Float32Array

  /** Room for `count` records. */
  constructor(count: number) {
    this.words = new Uint32Array(count * RECORD_WORDS)
    this.floats = new Float32Array(this.words.buffer)
  }

  /** Writes record `at`. */
  set(at: number, user: number, item: number, rating: number): void {
    const word = at * RECORD_WORDS
    this.words[word] = user
    this.words[word + 1] = item
    this.floats[word + 2] = rating
  }

  /** Copies record `from` of `source` to record `at`. */
  copy(at: number, source: RatingRecords, from: number): void {
    const word = at * RECORD_WORDS
    const other = from * RECORD_WORDS
    this.words[word] = source.words[other] as number
    this.words[word + 1] = source.words[other + 1] as number
    this.words[word + 2] = source.words[other + 2] as number
  }

  /** Number of the user (0) or item (1) of record `at`. */
  number(at: number, column: RecordColumn): number {
    return this.words[at * RECORD_WORDS + column] as number
  }

  rating(at: number): number {
    return this.floats[at * RECORD_WORDS + 2] as number
  }

  /** The bytes of records. */
  bytes(from: number, to: number): Uint8Array {
    return new Uint8Array(this.words.buffer, from * RECORD_BYTES, (to - from) * RECORD_BYTES)
  }
}

/** Column of a record: its user or its item. */
export type RecordColumn = 0 | 1

const RECORD_WORDS = 3

/** Bytes of a record. */
export const RECORD_BYTES = RECORD_WORDS * 4
