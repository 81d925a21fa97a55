import type { SourceSplit } from '../../operators/port/source.ts'
import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import { ProgressCombiner, type ProgressReport } from '../channel/progress-combiner.ts'

/** A subtask that flushes its sinks. */
interface FlushingSubtask {
  /** Resolves when what the sinks behind the subtask have got is in their topics. */
  written(): Promise<void>
}

/**
 * Publishes how far a slot has applied the sources: of all its subtasks with keyed state behind a
 * source, the one that is furthest back counts.
 */
export class SlotProgress {
  private readonly board: ProgressBoard
  private readonly slot: number
  private readonly combiner: ProgressCombiner
  private readonly writtenBy = new Map<FlushingSubtask, WrittenProgress>()

  /** `reporters`: by number of the reporting subtask, the sources that it is behind. */
  constructor(board: ProgressBoard, slot: number, reporters: readonly (readonly number[])[]) {
    this.board = board
    this.slot = slot
    if (reporters.every((sources) => sources.length === 0)) board.setWithoutProgress(slot)
    this.combiner = new ProgressCombiner(
      reporters.map((sources) => ({ single: true, senders: 1, sources })),
    )
  }

  /** A subtask has applied records. */
  report(reporter: number, report: ProgressReport): void {
    const all = this.combiner.report(reporter, 0, report)
    if (all === undefined) return
    const { board, slot } = this
    const { source, partition, nextOffset, asOfMs, version } = all
    board.setReported(slot)
    if (asOfMs > 0) board.setProgress(slot, partition, nextOffset, asOfMs, source, version)
    else board.setWithoutAsOf(slot, partition, nextOffset, source, version)
  }

  /** A subtask with sinks has applied records; publishes what they have written while a reader waits. */
  written(subtask: FlushingSubtask, report: ProgressReport, nowMs: number): void {
    let written = this.writtenBy.get(subtask)
    if (written === undefined) {
      written = new WrittenProgress(this.board, this.slot, subtask)
      this.writtenBy.set(subtask, written)
    }
    written.report(report, nowMs)
  }
}

/**
 * Publishes up to where the effects of records are written to the job's topics, for sources whose
 * effects come back through another source. It flushes sinks only while a reader waits for it.
 */
class WrittenProgress {
  private readonly board: ProgressBoard
  private readonly slot: number
  private readonly subtask: FlushingSubtask
  /** Applied progress by source and partition; what is written follows. */
  private readonly due = new Map<string, ProgressReport>()
  private running = false

  constructor(board: ProgressBoard, slot: number, subtask: FlushingSubtask) {
    this.board = board
    this.slot = slot
    this.subtask = subtask
  }

  /** The subtask has applied records. The failure of a sink ends the attempt elsewhere. */
  report(report: ProgressReport, nowMs: number): void {
    if (this.board.share.sources[report.source]?.returnsThrough === undefined) return
    this.due.set(`${report.source}/${report.partition}`, report)
    if (this.running || !this.board.isWrittenWanted(nowMs)) return
    this.running = true
    this.publish().catch(() => {})
  }

  private async publish(): Promise<void> {
    const reports = [...this.due.values()]
    try {
      await this.subtask.written()
      for (const { source, partition, nextOffset, version } of reports) {
        this.board.setWritten(this.slot, partition, nextOffset, source, version)
      }
    } finally {
      this.running = false
    }
  }
}

/**
 * Sets a slot's progress back to the restored checkpoint: a row that can be read during the restore
 * is as new as the checkpoint, and for others the answer is RESTORING. `restored` are positions of the
 * first source; those of other sources come with the slot's first reports.
 */
export function resetProgress(
  board: ProgressBoard,
  slot: number,
  restored: readonly SourceSplit[],
): void {
  board.resetProgress(slot)
  for (const { partition, nextOffset } of restored) {
    if (board.tracks(partition)) board.setWithoutAsOf(slot, partition, Math.max(nextOffset, 0))
  }
}
