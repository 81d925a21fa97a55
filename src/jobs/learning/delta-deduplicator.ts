/** The highest offset seen of the deltas of one source. */
export interface SeenOffset {
  /** Partition of the deltas topic. */
  readonly deltaPartition: number
  /** Version of the model; 0 where versions share offsets. */
  readonly version: number
  /** Partition of the observations topic. */
  readonly partition: number
  /** Key group of the observation's key; 0 where a partition is one source, `SUMS` for sums of deltas. */
  readonly sourceKeyGroup: number
  /** Offset of the observation; of sums, the offset of the last one in the deltas topic. */
  readonly offset: number
}

/** Stands in `SeenOffset` for the key group of sums of deltas (`NO_SOURCE_KEY_GROUP`), which are of many observations. */
export const SUMS = 0xffff

/** Versions of one delta partition that are tracked: deltas of a version end when the next is learned on. */
const MOST_VERSIONS = 3
/** Least key groups that are allocated. */
const KEY_GROUPS = 128

/**
 * Recognizes deltas that came before. A learner that goes back to a checkpoint sends deltas again, and
 * because rows have changed, they are not the same: the first one counts. Within a partition of the
 * deltas topic, deltas of one source keep the order of their observations, so a delta is a duplicate
 * where its offset is not above the highest seen.
 */
export class DeltaDeduplicator {
  private readonly partitions = new Map<number, HighestOffsets>()

  /** Records a delta; false when it is a duplicate. */
  isNew(
    deltaPartition: number,
    version: number,
    partition: number,
    sourceKeyGroup: number,
    offset: number,
  ): boolean {
    let offsets = this.partitions.get(deltaPartition)
    if (offsets === undefined) {
      offsets = new HighestOffsets()
      this.partitions.set(deltaPartition, offsets)
    }
    return offsets.raise(version, partition, sourceKeyGroup, offset)
  }

  /** Records a sum of deltas, by its offset in the deltas topic; false when it came before. */
  isNewSum(deltaPartition: number, version: number, offset: number): boolean {
    return this.isNew(deltaPartition, version, 0, SUMS, offset)
  }

  /** Restores an offset of a checkpoint. */
  restore({ deltaPartition, version, partition, sourceKeyGroup, offset }: SeenOffset): void {
    this.isNew(deltaPartition, version, partition, sourceKeyGroup, offset)
  }

  /** Everything seen, for a checkpoint: those of one delta partition follow each other. */
  *seen(): Iterable<SeenOffset> {
    for (const [deltaPartition, offsets] of this.partitions) yield* offsets.seen(deltaPartition)
  }
}

/** Highest offsets of one delta partition, by version, observations partition and source key group. */
class HighestOffsets {
  private readonly byVersion = new Map<number, Float64Array[]>()
  /** By version, the offset of the last sum in the deltas topic. */
  private readonly sums = new Map<number, number>()
  private lastVersion = -1
  private last: Float64Array[] = []

  /** Records an offset; false when it is not above the highest. */
  raise(version: number, partition: number, keyGroup: number, offset: number): boolean {
    if (version !== this.lastVersion) this.select(version)
    if (keyGroup === SUMS) return this.raiseSum(version, offset)
    let offsets = this.last[partition]
    if (offsets === undefined || keyGroup >= offsets.length) {
      offsets = grown(offsets, keyGroup)
      this.last[partition] = offsets
    }
    if (offset <= offsets[keyGroup]!) return false
    offsets[keyGroup] = offset
    return true
  }

  private raiseSum(version: number, offset: number): boolean {
    if (offset <= (this.sums.get(version) ?? -1)) return false
    this.sums.set(version, offset)
    return true
  }

  *seen(deltaPartition: number): Iterable<SeenOffset> {
    for (const [version, offset] of this.sums) {
      yield { deltaPartition, version, partition: 0, sourceKeyGroup: SUMS, offset }
    }
    for (const [version, partitions] of this.byVersion) {
      for (const [partition, offsets] of partitions.entries()) {
        for (const [sourceKeyGroup, offset] of (offsets ?? []).entries()) {
          if (offset >= 0) yield { deltaPartition, version, partition, sourceKeyGroup, offset }
        }
      }
    }
  }

  private select(version: number): void {
    let offsets = this.byVersion.get(version)
    if (offsets === undefined) {
      offsets = []
      this.byVersion.set(version, offsets)
      const oldest = Math.min(...this.byVersion.keys())
      if (this.byVersion.size > MOST_VERSIONS && oldest !== version) {
        this.byVersion.delete(oldest)
        this.sums.delete(oldest)
      }
    }
    this.lastVersion = version
    this.last = offsets
  }
}

/** Offsets of key groups up to `keyGroup`, -1 where none was seen. */
function grown(before: Float64Array | undefined, keyGroup: number): Float64Array {
  const offsets = new Float64Array(
    Math.max(KEY_GROUPS, 2 ** Math.ceil(Math.log2(keyGroup + 1))),
  ).fill(-1)
  if (before !== undefined) offsets.set(before)
  return offsets
}
