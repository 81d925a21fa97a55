import type { DataRange, RegisteredVersion } from '../../models/registry/version.ts'

/** Reads the observations of ranges of one topic. */
export type RangeReader<O> = (ranges: readonly DataRange[]) => AsyncIterable<readonly O[]>

/** An observation's position in its topic. */
export interface ObservationPosition {
  readonly partition: number
  readonly offset: number
}

/** The ranges that a version was trained on, and those that were replayed later: one range a partition. */
export function trainedRanges({ lineage }: RegisteredVersion): readonly DataRange[] {
  const joined = new Map<string, DataRange>()
  for (const range of [...lineage.ranges, ...(lineage.replayed ?? [])]) {
    const key = `${range.topic}/${range.partition}`
    const { from = range.from, to = range.to } = joined.get(key) ?? {}
    joined.set(key, { ...range, from: Math.min(from, range.from), to: Math.max(to, range.to) })
  }
  return [...joined.values()]
}

/** Positions that a version was trained on. */
export class TrainedPositions {
  private readonly ranges: ReadonlyMap<number, DataRange>

  constructor(version: RegisteredVersion | undefined) {
    const ranges = version === undefined ? [] : trainedRanges(version)
    this.ranges = new Map(ranges.map((range) => [range.partition, range]))
  }

  has({ partition, offset }: ObservationPosition): boolean {
    const range = this.ranges.get(partition)
    return range !== undefined && offset >= range.from && offset < range.to
  }
}
