import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import type { SegmentReference } from '../checkpoint/protocol/checkpoint-types.ts'
import { SegmentWriter } from '../checkpoint/segment-writer.ts'
import type { KeyedStateBackend } from '../state/keyed-state-backend.ts'
import type { ChangeSink, StateSnapshot } from '../state/state-change.ts'

/** Where segments of one operator subtask go. */
export interface SegmentTarget {
  readonly storage: CheckpointStorage
  /** Path of the subtask's n-th segment. */
  pathOf(number: number): string
}

/** A snapshot of one backend on its way into a segment. */
export interface CellSnapshot {
  /** Copies out for about `budgetMs`; true when nothing is left. */
  step(budgetMs: number): boolean
  /** Resolves when more may be copied out. */
  whenReady(): Promise<void>
  /** Completes the segment; the segments that the acknowledgement names, oldest first. */
  finish(): Promise<readonly SegmentReference[]>
}

const NOWHERE: ChangeSink = { append: () => {} }

/**
 * The keyed state of one operator subtask with its segments: what leaves memory between two
 * checkpoints goes into the same segment as the next snapshot, and a segment stays "pending" until a
 * checkpoint that names it has completed, so that an aborted checkpoint loses nothing.
 */
export class KeyedStateCell {
  readonly backend: KeyedStateBackend
  private readonly target: SegmentTarget | undefined
  private writer: SegmentWriter | undefined
  private pending: SegmentReference[] = []
  private segments = 0
  /** Changes were lost (or nothing is stored yet at another parallelism): write everything. */
  private fullNeeded = false

  constructor(backend: KeyedStateBackend, target: SegmentTarget | undefined) {
    this.backend = backend
    this.target = target
    this.openWriter()
  }

  /** Fixes the changes for a checkpoint. Throws ILLEGAL_STATE when no storage is configured. */
  snapshot(checkpointId: number, full: boolean): CellSnapshot {
    const everything = full || this.fullNeeded
    if (everything) this.dropWriter()
    const writer = this.writer!
    const copy = this.backend.snapshot(checkpointId, writer, everything)
    this.openWriter()
    return {
      step: (budgetMs) => writer.ready() && copy.step(budgetMs),
      whenReady: () => writer.whenReady(),
      finish: () => this.finish(writer, copy, checkpointId, everything),
    }
  }

  /** The checkpoint is durable: its segments are in the chain that the next one builds on. */
  completed(checkpointId: number): void {
    this.pending = this.pending.filter((s) => s.checkpointId > checkpointId)
    this.backend.checkpointCompleted(checkpointId)
  }

  /** Releases the backend and the segment that nothing refers to. */
  async close(): Promise<void> {
    this.backend.close()
    await this.writer?.abort()
    this.writer = undefined
  }

  private async finish(
    writer: SegmentWriter,
    copy: StateSnapshot,
    checkpointId: number,
    full: boolean,
  ): Promise<readonly SegmentReference[]> {
    try {
      while (!copy.step(1000));
      if (writer.entries === 0 && !full) {
        await writer.abort()
        return this.pending
      }
      const segment = await writer.finish({ checkpointId, full })
      this.pending = full ? [segment] : [...this.pending, segment]
      if (full) this.fullNeeded = false
      return this.pending
    } catch (error) {
      this.fullNeeded = true
      throw error
    }
  }

  private dropWriter(): void {
    const dropped = this.writer
    // What it holds is in the full snapshot too; a file that stays behind is an orphan for the sweep.
    dropped?.abort().catch(() => {})
    // Should the full segment fail, these changes are nowhere else: the next one must be full again.
    this.fullNeeded = true
    this.openWriter()
  }

  private openWriter(): void {
    this.segments += 1
    this.writer =
      this.target === undefined
        ? undefined
        : new SegmentWriter({
            storage: this.target.storage,
            path: this.target.pathOf(this.segments),
            keyGroups: this.backend.keyGroups,
          })
    this.backend.setSpillSink(this.writer ?? NOWHERE)
  }
}
