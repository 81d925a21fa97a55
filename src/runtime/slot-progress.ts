import type { ProgressBoard } from '../state/progress-board.ts'
import { ProgressCombiner } from './progress-combiner.ts'

/**
 * Publishes how far a slot has applied the source: of all its subtasks with keyed state behind the
 * source, the one that is furthest back counts.
 */
export class SlotProgress {
  private readonly board: ProgressBoard
  private readonly slot: number
  private readonly combiner: ProgressCombiner

  /** `reporters`: subtasks of the slot that will report, numbered from 0. */
  constructor(board: ProgressBoard, slot: number, reporters: number) {
    this.board = board
    this.slot = slot
    this.combiner = new ProgressCombiner([{ single: false, senders: reporters }])
  }

  /** A subtask has applied the partition below `nextOffset`. */
  report(reporter: number, partition: number, nextOffset: number, asOfMs: number): void {
    const all = this.combiner.report(0, reporter, partition, nextOffset, asOfMs)
    if (all === undefined) return
    if (all.asOfMs > 0) this.board.setProgress(this.slot, partition, all.nextOffset, all.asOfMs)
    else this.board.setUntold(this.slot, partition, all.nextOffset)
  }
}
