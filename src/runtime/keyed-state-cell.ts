import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import type { SegmentReference } from '../checkpoint/protocol/checkpoint-types.ts'
import type { SegmentBlockBuilder } from '../checkpoint/segment-block.ts'
import { type SegmentCompletion, SegmentWriter } from '../checkpoint/segment-writer.ts'
import { WeirError } from '../core/errors.ts'
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
 * Snapshots that build on each other: a full one (or the restored state) and the changes after it.
 * They are completed one after the other, for an acknowledgement names every segment before its own.
 */
interface Lineage {
  /** A segment could not be written: what builds on it is not whole. */
  broken: boolean
  /** Segments written that no completed checkpoint names yet, oldest first. */
  pending: SegmentReference[]
  /** Settles when every snapshot taken so far is completed or has failed. */
  finished: Promise<void>
}

/**
 * The keyed state of one operator subtask with its segments: what leaves memory between two
 * checkpoints goes into the same segment as the next snapshot, and a segment stays "pending" until a
 * checkpoint that names it has completed, so that an aborted checkpoint loses nothing. When a
 * segment fails, so does every snapshot after it until the next full one, which is taken at once.
 */
export class KeyedStateCell {
  readonly backend: KeyedStateBackend
  private readonly target: SegmentTarget | undefined
  private writer: SegmentWriter | undefined
  private lineage = newLineage()
  private segments = 0
  /** Memory that one checkpoint's writer leaves to the next one's. */
  private readonly idleBlocks: SegmentBlockBuilder[] = []

  constructor(backend: KeyedStateBackend, target: SegmentTarget | undefined) {
    this.backend = backend
    this.target = target
    this.openWriter()
  }

  /** Fixes the changes for a checkpoint. Throws ILLEGAL_STATE when no storage is configured. */
  snapshot(checkpointId: number, full: boolean): CellSnapshot {
    const everything = full || this.lineage.broken || this.backend.prefersFull()
    if (everything) {
      this.dropWriter()
      this.lineage = newLineage()
    }
    const { lineage } = this
    const writer = this.writer!
    const copy = this.backend.snapshot(checkpointId, writer, everything)
    this.openWriter()
    return {
      step: (budgetMs) => writer.ready() && copy.step(budgetMs),
      whenReady: () => writer.whenReady(),
      finish: () => this.finish(lineage, writer, copy, { checkpointId, full: everything }),
    }
  }

  /** False while what left memory waits to be written: memory is bounded only if input waits too. */
  ready(): boolean {
    return this.writer?.ready() ?? true
  }

  /** Resolves when `ready()` is true. */
  whenReady(): Promise<void> {
    return this.writer?.whenReady() ?? Promise.resolve()
  }

  /** The checkpoint is durable: its segments are in the chain that the next one builds on. */
  completed(checkpointId: number): void {
    const { lineage } = this
    lineage.pending = lineage.pending.filter((s) => s.checkpointId > checkpointId)
    this.backend.checkpointCompleted(checkpointId)
  }

  /** Releases the backend and the segment that nothing refers to. */
  async close(): Promise<void> {
    this.backend.close()
    await this.writer?.abort()
    this.writer = undefined
  }

  /** Copies out at once, for the next snapshot may begin now; storage is waited for in turn. */
  private async finish(
    lineage: Lineage,
    writer: SegmentWriter,
    copy: StateSnapshot,
    completion: SegmentCompletion,
  ): Promise<readonly SegmentReference[]> {
    const before = lineage.finished
    const { promise, resolve } = Promise.withResolvers<void>()
    lineage.finished = promise
    try {
      while (!copy.step(1000));
      await before
      if (lineage.broken) throw brokenLineage(completion.checkpointId)
      await this.complete(lineage, writer, completion)
      return lineage.pending
    } catch (error) {
      lineage.broken = true
      await writer.abort()
      throw error
    } finally {
      resolve()
    }
  }

  private async complete(
    lineage: Lineage,
    writer: SegmentWriter,
    completion: SegmentCompletion,
  ): Promise<void> {
    if (writer.entries === 0 && !completion.full) await writer.abort()
    else lineage.pending = [...lineage.pending, await writer.finish(completion)]
  }

  private dropWriter(): void {
    // What it holds is in the full snapshot too; a file that stays behind is an orphan for the sweep.
    this.writer?.abort().catch(() => {})
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
            idle: this.idleBlocks,
          })
    this.backend.setSpillSink(this.writer ?? NOWHERE)
  }
}

function newLineage(): Lineage {
  return { broken: false, pending: [], finished: Promise.resolve() }
}

function brokenLineage(checkpointId: number): WeirError {
  return new WeirError(
    'STORAGE_FAILED',
    `the state of checkpoint ${checkpointId} builds on a segment that could not be written; the next checkpoint will be full`,
  )
}
