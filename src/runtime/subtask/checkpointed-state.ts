import { ByteReader } from '../../core/byte-reader.ts'
import { WeirError } from '../../core/errors.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { ChangeSink, StateSnapshot } from '../../state/port/change.ts'
import type { KeyedStateBackend } from '../../state/port/keyed-state-backend.ts'
import type { SegmentReference } from '../checkpoint/protocol/checkpoint-types.ts'
import type { SegmentBlockBuilder } from '../checkpoint/segment/block.ts'
import { type SegmentCompletion, SegmentWriter } from '../checkpoint/segment/writer.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'

/** Storage of the segments of one operator subtask. */
export interface SegmentTarget {
  readonly storage: CheckpointStorage
  /** Path of the subtask's n-th segment. */
  pathOf(number: number): string
}

/** A snapshot of one backend that is being written to a segment. */
export interface CheckpointedStateSnapshot {
  /** Copies out for about `budgetMs`; true when nothing is left. */
  step(budgetMs: number): boolean
  /** Resolves when more may be copied out. */
  whenReady(): Promise<void>
  /** Completes the segment; returns the segments that the acknowledgement names, oldest first. */
  finish(): Promise<readonly SegmentReference[]>
}

/** Characters of a key in a message. */
const LONGEST_KEY_TEXT = 100

const NOWHERE: ChangeSink = { append: () => {} }

/**
 * Snapshots that build on each other: a full one (or the restored state) and the changes after it.
 * They are completed one after the other, because an acknowledgement names every segment before its own.
 */
interface Lineage {
  /** A segment could not be written: snapshots that build on it are not complete. */
  broken: boolean
  /** Segments written that no completed checkpoint names yet, oldest first. */
  pending: SegmentReference[]
  /** Settles when every snapshot taken so far is completed or has failed. */
  finished: Promise<void>
}

/** A snapshot that is being copied out, and the segment that it is written to. */
interface SnapshotRun {
  readonly lineage: Lineage
  readonly writer: SegmentWriter
  readonly copy: StateSnapshot
  readonly completion: SegmentCompletion
}

/**
 * The keyed state of one operator subtask with its segments. Entries that leave memory between two
 * checkpoints go into the same segment as the next snapshot. A segment stays "pending" until a
 * checkpoint that names it has completed, so that an aborted checkpoint loses nothing. When a segment
 * fails, every snapshot that builds on it fails too; the next snapshot is then a full one.
 */
export class CheckpointedState {
  readonly backend: KeyedStateBackend
  /** Serializer of the keys; undefined where it is not known. */
  readonly keys: Serializer<unknown> | undefined
  private readonly target: SegmentTarget | undefined
  private writer: SegmentWriter | undefined
  private lineage = newLineage()
  private segments = 0
  /** Memory that the writer of one checkpoint leaves to the next writer. */
  private readonly idleBlocks: SegmentBlockBuilder[] = []

  constructor(
    backend: KeyedStateBackend,
    target: SegmentTarget | undefined,
    keys?: Serializer<unknown> | undefined,
  ) {
    this.backend = backend
    this.keys = keys
    this.target = target
    this.openWriter()
  }

  /** The current key as JSON, shortened; undefined where none is selected, or its serializer is not known. */
  currentKeyText(): string | undefined {
    try {
      const key = this.keys?.read(new ByteReader(this.backend.currentKey()))
      return JSON.stringify(key)?.slice(0, LONGEST_KEY_TEXT)
    } catch {
      return undefined
    }
  }

  /** Fixes the changes for a checkpoint. Throws ILLEGAL_STATE when no storage is configured. */
  snapshot(checkpointId: number, full: boolean): CheckpointedStateSnapshot {
    const everything = full || this.lineage.broken || this.backend.prefersFull()
    if (everything) {
      this.dropWriter()
      this.lineage = newLineage()
    }
    const { lineage } = this
    const writer = this.writer!
    const copy = this.backend.snapshot(checkpointId, writer, everything)
    const completion = { checkpointId, full: everything }
    this.openWriter()
    return {
      step: (budgetMs) => writer.ready() && copy.step(budgetMs),
      whenReady: () => writer.whenReady(),
      finish: () => this.finish({ lineage, writer, copy, completion }),
    }
  }

  /**
   * False while spilled entries wait to be written: input must then wait too, so that memory is
   * bounded.
   */
  ready(): boolean {
    return this.writer?.ready() ?? true
  }

  /** Resolves when `ready()` is true. */
  whenReady(): Promise<void> {
    return this.writer?.whenReady() ?? Promise.resolve()
  }

  /** The checkpoint is durable: the next checkpoint builds on its segments. */
  completed(checkpointId: number): void {
    const { lineage } = this
    lineage.pending = lineage.pending.filter((s) => s.checkpointId > checkpointId)
    this.backend.checkpointCompleted(checkpointId)
  }

  /** Releases the backend and the segment that no checkpoint refers to. */
  async close(): Promise<void> {
    this.backend.close()
    await this.writer?.abort()
    this.writer = undefined
  }

  /**
   * Copies out at once, because the next snapshot may begin now; then completes the segment in its
   * turn.
   */
  private async finish({
    lineage,
    writer,
    copy,
    completion,
  }: SnapshotRun): Promise<readonly SegmentReference[]> {
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
    // The full snapshot holds its entries too. If its file remains, the next sweep deletes it.
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
