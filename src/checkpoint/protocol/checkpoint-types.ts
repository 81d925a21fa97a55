import type { KeyGroupRange } from '../../core/key-group.ts'

/** How barriers are aligned. */
export type CheckpointMode = 'exactly-once' | 'at-least-once'

/** A barrier as it travels with the records. */
export interface Barrier {
  readonly checkpointId: number
  readonly timestampMs: number
  /** Write all state, not just the changes: a savepoint, or the base of a new chain. */
  readonly full: boolean
  readonly mode: CheckpointMode
}

/** One immutable file of changed keyed state, written by one subtask. */
export interface SegmentReference {
  /** Path in checkpoint storage. */
  readonly path: string
  readonly bytes: number
  /** CRC-32 of the file before its last four bytes, which hold it too. */
  readonly checksum: number
  readonly entries: number
  /** Key groups it counts for; the file may hold more, which newer full segments have replaced. */
  readonly keyGroups: KeyGroupRange
  /** Checkpoint whose changes it holds. */
  readonly checkpointId: number
  /** Order among segments of one checkpoint and subtask; a later one overrides an earlier one. */
  readonly sequence: number
  /** Whether it holds all state of its key groups, so that no older segment is needed for them. */
  readonly full: boolean
}

/** Entries of one non-keyed state of one subtask. */
export interface OperatorStateEntries {
  readonly name: string
  readonly redistribution: 'split' | 'union' | 'broadcast'
  readonly entries: readonly Uint8Array[]
}

/** Keyed and non-keyed state that one operator subtask adds to a checkpoint. */
export interface OperatorSnapshot {
  readonly uid: string
  readonly subtask: number
  readonly parallelism: number
  readonly maxParallelism: number
  /** Declared states: name, kind, format. */
  readonly declarations: readonly {
    readonly name: string
    readonly kind: string
    readonly format: string
  }[]
  /** Segments that are not in the last completed checkpoint. */
  readonly segments: readonly SegmentReference[]
  readonly operatorState: readonly OperatorStateEntries[]
}

/** What a slot's subtask chain measured. */
export interface CheckpointTimings {
  /** From the trigger on the main thread to the first barrier here, in ms. */
  readonly startDelayMs: number
  /** First to last barrier, in ms. */
  readonly alignmentMs: number
  /** Processing stood still for the snapshot, in ms. */
  readonly syncMs: number
  /** Copying out and writing in the background, in ms. */
  readonly asyncMs: number
}

/** A subtask's acknowledgement. */
export interface CheckpointAck {
  readonly jobId: string
  readonly attempt: number
  readonly checkpointId: number
  /** Chain and subtask that acknowledge, `<head operator uid>#<subtask>`. */
  readonly task: string
  readonly operators: readonly OperatorSnapshot[]
  readonly timings: CheckpointTimings
}

/** A subtask's refusal. */
export interface CheckpointDecline {
  readonly jobId: string
  readonly attempt: number
  readonly checkpointId: number
  readonly task: string
  readonly reason: string
}

/** State of one operator in a completed checkpoint, over all its subtasks. */
export interface OperatorManifest {
  readonly uid: string
  readonly parallelism: number
  readonly maxParallelism: number
  readonly declarations: OperatorSnapshot['declarations']
  /** The whole chain, oldest first. */
  readonly segments: readonly SegmentReference[]
  /** By subtask. */
  readonly operatorState: readonly (readonly OperatorStateEntries[])[]
}

/** The content of `_metadata`: all that a restore needs. */
export interface CheckpointManifest {
  readonly jobId: string
  readonly jobName: string
  readonly attempt: number
  /** Coordinator that wrote it, counted from 1; see `checkpoint-paths.ts`. */
  readonly generation: number
  readonly checkpointId: number
  readonly kind: 'checkpoint' | 'savepoint'
  readonly triggeredAtMs: number
  readonly completedAtMs: number
  readonly operators: readonly OperatorManifest[]
}
