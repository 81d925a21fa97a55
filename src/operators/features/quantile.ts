import type { OpenRow } from './row.ts'
import { refusalOfNumber, type Tally } from './tally.ts'
import { firstFrom } from './tiled-cells.ts'
import type { Tiling } from './tiling.ts'

/** Relative error of a value. */
export const QUANTILE_ERROR = 0.01
const GAMMA = (1 + QUANTILE_ERROR) / (1 - QUANTILE_ERROR)
const LOG_GAMMA = Math.log(GAMMA)
/** Most buckets of a tile. With more of them, pairs become one, and the error doubles. */
const MOST_BUCKETS = 256
/** Above the largest number of a bucket of a double, so that those of positive numbers are above 0. */
const OFFSET = 40_000
/** An entry: tile (uint32), bucket x 16 + level (int32), count (uint32). Sorted by tile and bucket. */
const ENTRY = 12
const BUCKET_AT = 4
const COUNT_AT = 8
const LEVEL_BITS = 4
const LEVELS = 2 ** LEVEL_BITS
const MOST_COUNT = 2 ** 32 - 1

/** The bucket of a number where 2^level of those of the first level are one: 0 of 0, negative of negative numbers. */
function bucketOf(value: number, level: number): number {
  if (value === 0) return 0
  const fine = Math.ceil(Math.log(Math.abs(value)) / LOG_GAMMA)
  return Math.sign(value) * (Math.ceil(fine / 2 ** level) + OFFSET)
}

/** The bucket that holds a bucket, so many levels above. */
function above(bucket: number, levels: number): number {
  if (bucket === 0 || levels === 0) return bucket
  return Math.sign(bucket) * (Math.ceil((Math.abs(bucket) - OFFSET) / 2 ** levels) + OFFSET)
}

/** The number that is within the relative error of each one in the bucket. */
function numberIn(bucket: number, level: number): number {
  if (bucket === 0) return 0
  const gamma = GAMMA ** (2 ** level)
  return (Math.sign(bucket) * 2 * gamma ** (Math.abs(bucket) - OFFSET)) / (gamma + 1)
}

/**
 * A quantile of the numbers in a window: a DDSketch (Masson, Rim and Lee, VLDB 2019) a tile, whose buckets grow by a
 * constant factor. The value is within 1 % of the number of that rank. In a tile of more than 256 buckets, neighbours
 * become one (UDDSketch: Epicoco, Melle, Cafaro, Pulimeno and Morleo, IEEE Access 2020): 2 %, then 4 %. What a tile holds
 * depends on its numbers, not on their order.
 */
export class QuantileTally implements Tally<number, number | null> {
  readonly layout: string
  readonly mostBytes: number
  private readonly q: number
  private readonly tiling: Tiling

  /** `q`: 0 <= q <= 1. */
  constructor(q: number, tiling: Tiling) {
    this.q = q
    this.tiling = tiling
    this.mostBytes = tiling.most * MOST_BUCKETS * ENTRY
    // Without q: what is stored serves each quantile.
    this.layout = `quantile/${tiling.windowMs}/${tiling.tileMs}`
  }

  check(input: unknown): string | undefined {
    return refusalOfNumber(input)
  }

  add(row: OpenRow, feature: number, time: number, input: number): void {
    const tile = this.tiling.tileOf(time)
    const first = this.tiling.firstOf(row.newest)
    if (tile < first) return
    const start = row.startOf(feature)
    let end = start + row.sizeOf(feature)
    while (end > start && row.view.getUint32(end - ENTRY, true) > tile) end -= ENTRY
    let from = end
    while (from > start && row.view.getUint32(from - ENTRY, true) === tile) from -= ENTRY
    if (from === end) {
      const removed = prune(row, feature, first)
      from -= removed
      end -= removed
    }
    const level = from === end ? 0 : row.view.getInt32(from + BUCKET_AT, true) & (LEVELS - 1)
    const key = bucketOf(input, level) * LEVELS + level
    let at = from
    while (at < end && row.view.getInt32(at + BUCKET_AT, true) < key) at += ENTRY
    if (at < end && row.view.getInt32(at + BUCKET_AT, true) === key) {
      const count = row.view.getUint32(at + COUNT_AT, true)
      // A bucket of one key and tile that is full stays so.
      if (count < MOST_COUNT) row.view.setUint32(at + COUNT_AT, count + 1, true)
      return
    }
    row.insert(feature, at, ENTRY)
    row.view.setUint32(at, tile, true)
    row.view.setInt32(at + BUCKET_AT, key, true)
    row.view.setUint32(at + COUNT_AT, 1, true)
    let size = end + ENTRY - from
    while (size > MOST_BUCKETS * ENTRY) size = collapse(row, feature, from, size)
  }

  read(row: OpenRow, feature: number, at: number): number | null {
    const { view } = row
    const start = row.startOf(feature)
    const to = start + row.sizeOf(feature)
    const from = firstFrom(view, { from: start, to, stride: ENTRY }, this.tiling.firstOf(at))
    let level = 0
    let total = 0
    for (let place = from; place < to; place += ENTRY) {
      level = Math.max(level, view.getInt32(place + BUCKET_AT, true) & (LEVELS - 1))
      total += view.getUint32(place + COUNT_AT, true)
    }
    if (total === 0) return null
    const counts = new Map<number, number>()
    for (let place = from; place < to; place += ENTRY) {
      const key = view.getInt32(place + BUCKET_AT, true)
      const bucket = above(key >> LEVEL_BITS, level - (key & (LEVELS - 1)))
      counts.set(bucket, (counts.get(bucket) ?? 0) + view.getUint32(place + COUNT_AT, true))
    }
    return numberIn(bucketAt(counts, Math.floor(this.q * (total - 1))), level)
  }
}

/** The bucket of the number with this rank, counted from 0. */
function bucketAt(counts: ReadonlyMap<number, number>, rank: number): number {
  let before = 0
  let last = 0
  for (const bucket of [...counts.keys()].sort((a, b) => a - b)) {
    before += counts.get(bucket)!
    last = bucket
    if (before > rank) break
  }
  return last
}

/** Removes the tiles before the first one that can still be read. Returns their bytes. */
function prune(row: OpenRow, feature: number, first: number): number {
  const from = row.startOf(feature)
  const to = from + row.sizeOf(feature)
  const kept = firstFrom(row.view, { from, to, stride: ENTRY }, first)
  if (kept > from) row.remove(feature, from, kept - from)
  return kept - from
}

/** Makes one bucket of each pair of a tile. Returns the bytes that the tile has then. */
function collapse(row: OpenRow, feature: number, from: number, size: number): number {
  const { view } = row
  let to = from
  for (let at = from; at < from + size; at += ENTRY) {
    const key = view.getInt32(at + BUCKET_AT, true)
    const count = view.getUint32(at + COUNT_AT, true)
    const merged = above(key >> LEVEL_BITS, 1) * LEVELS + (key & (LEVELS - 1)) + 1
    const before = to - ENTRY
    if (before >= from && view.getInt32(before + BUCKET_AT, true) === merged) {
      const sum = view.getUint32(before + COUNT_AT, true) + count
      view.setUint32(before + COUNT_AT, Math.min(MOST_COUNT, sum), true)
      continue
    }
    view.setUint32(to, view.getUint32(at, true), true)
    view.setInt32(to + BUCKET_AT, merged, true)
    view.setUint32(to + COUNT_AT, count, true)
    to += ENTRY
  }
  row.remove(feature, to, from + size - to)
  return to - from
}
