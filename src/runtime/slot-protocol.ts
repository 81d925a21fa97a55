import type { MessagePort } from 'node:worker_threads'
import type {
  Barrier,
  CheckpointAck,
  CheckpointDecline,
} from '../checkpoint/protocol/checkpoint-types.ts'
import type { SubtaskRestore } from '../checkpoint/protocol/restore-plan.ts'
import type { MetricSnapshot } from '../core/metrics.ts'
import type { SourceSplit } from '../operators/source.ts'
import type { StateDescriptor } from '../state/descriptors.ts'
import type { ProgressBoardShare } from '../state/progress-board.ts'
import type { RowTableShare } from '../state/row-table-share.ts'
import type { JobConfiguration } from './configuration.ts'

/*
 * Messages between the main thread and a slot: plain data (ports and shared buffers beside them).
 * Each carries the attempt that it belongs to; a message of another attempt is ignored.
 */

/** A port to another thread, which can be handed over with a message. */
export type MessagePortLike = MessagePort

/** What a slot is told when an attempt begins. */
export interface SlotDeployment {
  readonly jobId: string
  readonly jobName: string
  readonly attempt: number
  readonly slot: number
  readonly slots: number
  readonly configuration: JobConfiguration
  /** Generation of the coordinator, part of segment names. */
  readonly generation: number
  /** Root of checkpoint storage; undefined when no checkpoints are taken. */
  readonly storageUrl: string | undefined
  /** Checkpoint that is restored, 0 for a fresh start. */
  readonly restoredCheckpoint: number
  /** How far the job's first source was read in the checkpoint: what is restored holds all of it. */
  readonly restoredSplits: readonly SourceSplit[]
  /** What this slot's operator subtasks restore. */
  readonly restore: readonly SubtaskRestore[]
  readonly board: ProgressBoardShare
  /** Ports to the other slots by slot number; undefined at the own number. */
  readonly peers: readonly (MessagePortLike | undefined)[]
}

/** Main thread to slot. */
export type SlotCommand =
  | { readonly kind: 'deploy'; readonly attempt: number; readonly deployment: SlotDeployment }
  /** Every slot has restored: sources may read. */
  | { readonly kind: 'start'; readonly attempt: number }
  /** `stopAfter`: sources deliver nothing after this barrier until `resume`. */
  | {
      readonly kind: 'trigger-checkpoint'
      readonly attempt: number
      readonly barrier: Barrier
      readonly stopAfter: boolean
    }
  | {
      readonly kind: 'checkpoint-completed'
      readonly attempt: number
      readonly checkpointId: number
    }
  | { readonly kind: 'checkpoint-aborted'; readonly attempt: number; readonly checkpointId: number }
  /** Sources go on after a stop that failed. */
  | { readonly kind: 'resume'; readonly attempt: number }
  /** Sources end as if their input had ended. */
  | { readonly kind: 'drain'; readonly attempt: number }
  /** Every input has ended and no checkpoint can be taken: prepare and commit directly. */
  | { readonly kind: 'commit'; readonly attempt: number; readonly checkpointId: number }
  /** Close everything. */
  | { readonly kind: 'close'; readonly attempt: number }
  | {
      readonly kind: 'operator-event'
      readonly attempt: number
      readonly uid: string
      /** Undefined: every subtask. */
      readonly subtask: number | undefined
      readonly event: unknown
    }
  | { readonly kind: 'metrics'; readonly attempt: number; readonly request: number }
  | { readonly kind: 'ping'; readonly attempt: number }
  /** Another slot opened or dropped a row table, which can be read in place. */
  | { readonly kind: 'peer-table-opened'; readonly attempt: number; readonly share: RowTableShare }
  | {
      readonly kind: 'peer-table-dropped'
      readonly attempt: number
      readonly operatorUid: string
      readonly state: string
      readonly version: number
      readonly slot: number
    }
  /** A query thread's port; requests come on it and replies go back. */
  | { readonly kind: 'attach-query'; readonly attempt: number; readonly port: MessagePortLike }

/** A state that clients may query by name, as the slot that holds a part of it declares it. */
export interface QueryableDeclaration {
  readonly queryableName: string
  readonly operatorUid: string
  readonly state: string
  readonly stateKind: StateDescriptor['kind']
  /** Id of the value serializer, or `vector/<dimension>`. */
  readonly format: string
  readonly keySuffix: string
  readonly slot: number
  readonly parallelism: number
  readonly maxParallelism: number
}

/** Slot to main thread. */
export type SlotReport =
  /** Operators are open and state is complete. */
  | { readonly kind: 'restored'; readonly attempt: number; readonly fingerprint: string }
  | { readonly kind: 'running'; readonly attempt: number }
  | { readonly kind: 'ack'; readonly attempt: number; readonly ack: CheckpointAck }
  | { readonly kind: 'decline'; readonly attempt: number; readonly decline: CheckpointDecline }
  /** Every subtask of the slot has seen the end of its inputs. */
  | { readonly kind: 'ended'; readonly attempt: number }
  /** Everything that a stop or the end asked to be committed is committed. */
  | { readonly kind: 'committed'; readonly attempt: number; readonly checkpointId: number }
  | { readonly kind: 'closed'; readonly attempt: number }
  /** The attempt cannot go on. */
  | {
      readonly kind: 'failed'
      readonly attempt: number
      readonly task: string
      /** Name of the operator that threw; undefined when the slot itself failed. */
      readonly operator: string | undefined
      readonly code: string
      readonly message: string
      readonly stack: string | undefined
    }
  | { readonly kind: 'table-opened'; readonly attempt: number; readonly share: RowTableShare }
  | {
      readonly kind: 'table-dropped'
      readonly attempt: number
      readonly operatorUid: string
      readonly state: string
      readonly version: number
    }
  | {
      readonly kind: 'queryable-declared'
      readonly attempt: number
      readonly declaration: QueryableDeclaration
    }
  | {
      readonly kind: 'operator-event'
      readonly attempt: number
      readonly uid: string
      readonly subtask: number
      readonly event: unknown
    }
  | {
      readonly kind: 'metrics'
      readonly attempt: number
      readonly request: number
      readonly metrics: MetricSnapshot
    }
  | { readonly kind: 'pong'; readonly attempt: number }
