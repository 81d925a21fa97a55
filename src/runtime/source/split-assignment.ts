import type { Source, SourceSplit } from '../../operators/port/source.ts'

/** The part of a source that says which subtask reads a partition. */
type PartitionedSource = Pick<Source<unknown>, 'subtaskOf'>

/** Which partitions of a source one subtask reads: each partition belongs to one subtask. */
export class SplitAssignment {
  private readonly source: PartitionedSource
  private readonly subtask: number
  private readonly parallelism: number
  private readonly known = new Set<number>()
  private readonly restored = new Set<number>()

  constructor(source: PartitionedSource, subtask: number, parallelism: number) {
    this.source = source
    this.subtask = subtask
    this.parallelism = parallelism
  }

  /** Those of the restored splits that this subtask reads now. */
  restore(splits: readonly SourceSplit[]): readonly SourceSplit[] {
    const own = splits.filter(({ partition }) => this.owns(partition))
    for (const { partition } of own) {
      this.known.add(partition)
      this.restored.add(partition)
    }
    return own
  }

  isRestored(partition: number): boolean {
    return this.restored.has(partition)
  }

  /** New splits of this subtask among the partitions that the source has, which then count as known. */
  discover(partitions: readonly number[]): readonly SourceSplit[] {
    const fresh = partitions.filter((p) => this.owns(p) && !this.known.has(p))
    for (const partition of fresh) this.known.add(partition)
    return fresh.map((partition) => ({ partition, nextOffset: -1 }))
  }

  private owns(partition: number): boolean {
    const { source, parallelism } = this
    const owner = source.subtaskOf?.(partition, parallelism) ?? partition % parallelism
    return owner === this.subtask
  }
}
