/** How far one source partition has been applied. */
export interface PartitionProgress {
  nextOffset: number
  asOfMs: number
}

/**
 * How far a subtask has applied the partitions of the job's source, from what its channels report.
 * Behind a source a partition is reported by one sender; further down by every sender of the edge,
 * and the smallest report counts.
 */
export class ProgressCombiner {
  /** By edge: reports of each of its senders. */
  private readonly edges: readonly {
    readonly single: boolean
    readonly senders: readonly Map<number, PartitionProgress>[]
  }[]
  private readonly combined = new Map<number, PartitionProgress>()

  /** One entry per edge behind the source: whether one sender reports a partition, and senders. */
  constructor(edges: readonly { readonly single: boolean; readonly senders: number }[]) {
    this.edges = edges.map(({ single, senders }) => ({
      single,
      senders: Array.from({ length: single ? 1 : senders }, () => new Map()),
    }))
  }

  /** Notes a report; the new combined progress, or undefined when it did not change. */
  report(
    edge: number,
    sender: number,
    partition: number,
    nextOffset: number,
    asOfMs: number,
  ): PartitionProgress | undefined {
    const { single, senders } = this.edges[edge]!
    senders[single ? 0 : sender]!.set(partition, { nextOffset, asOfMs })
    const now = this.combine(partition)
    const before = this.combined.get(partition)
    if (now === undefined) return undefined
    if (before?.nextOffset === now.nextOffset && before.asOfMs === now.asOfMs) return undefined
    this.combined.set(partition, now)
    return now
  }

  private combine(partition: number): PartitionProgress | undefined {
    let nextOffset = Number.POSITIVE_INFINITY
    let asOfMs = Number.POSITIVE_INFINITY
    for (const { senders } of this.edges) {
      for (const sender of senders) {
        const progress = sender.get(partition)
        if (progress === undefined) return undefined
        nextOffset = Math.min(nextOffset, progress.nextOffset)
        asOfMs = Math.min(asOfMs, progress.asOfMs)
      }
    }
    return { nextOffset, asOfMs }
  }
}
