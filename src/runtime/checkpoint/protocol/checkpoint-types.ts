import type { KeyGroupRange } from '../../../core/key-group.ts'
import type { Deadline } from '../../../core/moment.ts'

/** How barriers are aligned. */
export type CheckpointMode = 'exactly-once' | 'at-least-once'

/** A barrier, which travels with the records. */
export interface Barrier {
  readonly checkpointId: number
  readonly timestampMs: number
  /**
   * Whether to write all state and not only the changes: for a savepoint, or as the base of a new
   * chain.
   */
  readonly full: boolean
  readonly mode: CheckpointMode
  /**
   * Time after the trigger from which it overtakes the records in front of it, in ms; undefined for a
   * barrier that never does.
   */
  readonly alignedTimeoutMs?: number
  /** Whether a subtask does nothing after it: it is the last one before the job is released. @default false */
  readonly halts?: boolean
}

/** One immutable file of changed keyed state, written by one subtask. */
export interface SegmentReference {
  /** Path in checkpoint storage. */
  readonly path: string
  readonly bytes: number
  /** CRC-32 of the file without its last four bytes, which contain it too. */
  readonly checksum: number
  readonly entries: number
  /** Key groups for which it counts; the file may hold more, which newer full segments have replaced. */
  readonly keyGroups: KeyGroupRange
  /** Checkpoint whose changes it holds. */
  readonly checkpointId: number
  /** Order among segments of one checkpoint and subtask; a later one overrides an earlier one. */
  readonly sequence: number
  /** Whether it holds all state of its key groups, so that no older segment is needed for them. */
  readonly full: boolean
}

/** Name of the operator state that holds the records that a barrier has overtaken, see `in-flight-format.ts`. */
export const OVERTAKEN_RECORDS = 'overtaken-records'

/** Entries of one non-keyed state of one subtask. */
export interface OperatorStateEntries {
  readonly name: string
  /** `channels`: records that a barrier has overtaken; every subtask gets all and takes its own. */
  readonly redistribution: 'split' | 'union' | 'broadcast' | 'channels'
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
  /** Whether the operator has keyed state; what older checkpoints have of one without is not continued. */
  readonly isKeyed: boolean
  readonly operatorState: readonly OperatorStateEntries[]
}

/** Times of a subtask's part of a checkpoint. */
export interface CheckpointTimings {
  /** From the trigger on the main thread to the first barrier at the subtask, in ms. */
  readonly startDelayMs: number
  /** From the first to the last barrier, in ms. */
  readonly alignmentMs: number
  /** Time for which processing stopped for the snapshot, in ms. */
  readonly syncMs: number
  /** Time of copying and writing in the background, in ms. */
  readonly asyncMs: number
}

/** A subtask's acknowledgement. */
export interface CheckpointAck {
  readonly jobId: string
  readonly attempt: number
  readonly checkpointId: number
  /** Chain and subtask that acknowledge, `<uid of the first operator>#<subtask>`. */
  readonly task: string
  readonly operators: readonly OperatorSnapshot[]
  readonly timings: CheckpointTimings
  /** Until when its sinks can commit what they have prepared. @default at any time */
  readonly commitBy?: readonly Deadline[]
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

/** Content of `_metadata`: everything that a restore needs. */
export interface CheckpointManifest {
  readonly jobId: string
  readonly jobName: string
  readonly attempt: number
  /** Generation of the coordinator that wrote it, counted from 1; see `storage/paths.ts`. */
  readonly generation: number
  readonly checkpointId: number
  readonly kind: 'checkpoint' | 'savepoint'
  readonly triggeredAtMs: number
  readonly completedAtMs: number
  readonly operators: readonly OperatorManifest[]
}
