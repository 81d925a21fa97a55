import type { DataRange, RangeRead } from '../registry/ranges/data-range.ts'
import {
  addedDigests,
  type ObservationsDigest,
  ObservationsDigester,
} from '../registry/ranges/observations-digest.ts'
import type { ObservedExample } from './examples.ts'
import type { Observation } from './topic-ranges.ts'

/** Offsets at the end of a range that have a digest of their own. */
const LAST_OFFSETS = 65_536

/** Digests what is read of ranges of one topic, one range a partition. */
export class RangesReading {
  private readonly readings: ReadonlyMap<number, RangeReading>

  constructor(ranges: readonly DataRange[]) {
    this.readings = new Map(ranges.map((range) => [range.partition, new RangeReading(range)]))
  }

  addRating({ partition, offset, user, item, rating }: Observation): void {
    this.readings.get(partition)?.at(offset).addRating(user, item, rating)
  }

  addExample({ partition, offset, label, ids, values }: ObservedExample): void {
    this.readings.get(partition)?.at(offset).addExample(label, ids, values)
  }

  /** The ranges with what was read of them. */
  get ranges(): readonly DataRange[] {
    return [...this.readings.values()].map((reading) => reading.range)
  }
}

class RangeReading {
  private readonly before = new ObservationsDigester()
  private readonly last = new ObservationsDigester()
  private readonly lastFrom: number
  private readonly given: DataRange

  constructor(range: DataRange) {
    this.given = range
    this.lastFrom = Math.max(range.from, range.to - LAST_OFFSETS)
  }

  at(offset: number): ObservationsDigester {
    return offset < this.lastFrom ? this.before : this.last
  }

  get range(): DataRange {
    const digest = this.last.digest
    const all = addedDigests(this.before.digest, digest)
    return { ...this.given, read: { all, last: { from: this.lastFrom, digest } } }
  }
}

/** What was read of a range and of the one that follows it; undefined if one of them does not say it. */
export function joinedRead(
  before: RangeRead | undefined,
  after: RangeRead | undefined,
): RangeRead | undefined {
  if (before === undefined || after === undefined) return undefined
  return { all: addedDigests(before.all, after.all), last: after.last }
}

/** The digest of several ranges together; undefined if one of them does not say it. */
export function digestOfRanges(ranges: readonly DataRange[]): ObservationsDigest | undefined {
  let sum = new ObservationsDigester().digest
  for (const { read } of ranges) {
    if (read === undefined) return undefined
    sum = addedDigests(sum, read.all)
  }
  return sum
}
