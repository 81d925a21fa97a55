import { NO_VERSION } from '../../state/catalog/progress-board.ts'

/** Progress over one source partition: every record before `nextOffset` is applied, as of a time. */
export interface PartitionProgress {
  nextOffset: number
  /** Time of `Clock.monotonicMs`; 0 when it is not known. */
  asOfMs: number
  /** The model version for which it holds; see `ProgressBoard.progressVersion`. */
  version: number
}

/** Progress over a partition of a source, on its way to the owners of keys. */
export interface ProgressReport extends Readonly<PartitionProgress> {
  /** Number of the source in the job. */
  readonly source: number
  readonly partition: number
}

/** An edge that carries records of sources. */
export interface ProgressEdge {
  /** Whether one sender reports a partition. */
  readonly single: boolean
  readonly senders: number
  /** Numbers of the sources whose records it carries. */
  readonly sources: readonly number[]
}

/**
 * Progress of a subtask over the partitions of the job's sources, from the reports of its channels.
 * Directly after a source, one sender reports a partition; further downstream every sender of the
 * edge does, and the smallest report counts. Edges that carry no record of a source do not count for it.
 */
export class ProgressCombiner {
  /** By edge: reports of each of its senders, by source and partition. */
  private readonly edges: readonly {
    readonly single: boolean
    readonly sources: readonly number[]
    readonly senders: readonly Map<string, ProgressReport>[]
  }[]
  private readonly combined = new Map<string, ProgressReport>()

  constructor(edges: readonly ProgressEdge[]) {
    this.edges = edges.map(({ single, senders, sources }) => ({
      single,
      sources,
      senders: Array.from({ length: single ? 1 : senders }, () => new Map()),
    }))
  }

  /** Records a report; returns the new combined progress, or undefined if it did not change. */
  report(edge: number, sender: number, report: ProgressReport): ProgressReport | undefined {
    const { single, senders } = this.edges[edge]!
    const place = `${report.source}/${report.partition}`
    senders[single ? 0 : sender]!.set(place, report)
    const now = this.combine(place, report)
    if (now === undefined) return undefined
    const before = this.combined.get(place)
    if (before !== undefined && isSame(before, now)) return undefined
    this.combined.set(place, now)
    return now
  }

  private combine(place: string, report: ProgressReport): ProgressReport | undefined {
    let { nextOffset, asOfMs, version } = report
    for (const { senders, sources } of this.edges) {
      if (!sources.includes(report.source)) continue
      for (const sender of senders) {
        const progress = sender.get(place)
        if (progress === undefined) return undefined
        nextOffset = Math.min(nextOffset, progress.nextOffset)
        asOfMs = Math.min(asOfMs, progress.asOfMs)
        if (progress.version !== version) version = NO_VERSION
      }
    }
    return { ...report, nextOffset, asOfMs, version }
  }
}

function isSame(a: ProgressReport, b: ProgressReport): boolean {
  return a.nextOffset === b.nextOffset && a.asOfMs === b.asOfMs && a.version === b.version
}
