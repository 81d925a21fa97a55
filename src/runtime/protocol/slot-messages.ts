import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode, ErrorDetails } from '../../core/errors.ts'
import type { MetricSnapshot } from '../../core/metrics.ts'
import type { AccumulatorPart } from '../../operators/port/accumulator.ts'
import type { SourceSplit } from '../../operators/port/source.ts'
import type { ProgressBoardShare } from '../../state/catalog/progress-board.ts'
import type { TypedStateShare } from '../../state/catalog/typed-state-share.ts'
import type { RowTableShare } from '../../state/rows/share.ts'
import type {
  Barrier,
  CheckpointAck,
  CheckpointDecline,
} from '../checkpoint/protocol/checkpoint-types.ts'
import type { DroppedState } from '../checkpoint/protocol/dropped-state.ts'
import type { SubtaskRestore } from '../checkpoint/protocol/restore-plan.ts'
import type { JobConfiguration } from '../configuration/configuration.ts'

/*
 * Messages between the main thread and a slot: plain data (ports and shared buffers beside them).
 * Each carries the attempt that it belongs to; a message of another attempt is ignored.
 */

/** A port to another thread, which can be transferred with a message. */
export type MessagePortLike = MessagePort

/** A slot's part of an attempt. */
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
  /** Whether the restored checkpoint may be of another version of the job. */
  readonly mayHaveChanged: boolean
  /**
   * Positions of the job's first source in the checkpoint; the restored state holds all records before
   * them.
   */
  readonly restoredSplits: readonly SourceSplit[]
  /** State that this slot's operator subtasks restore. */
  readonly restore: readonly SubtaskRestore[]
  readonly board: ProgressBoardShare
  /** Whether asynchronous code knows the operator that has begun it: it has ended the attempt before. */
  readonly namesCallers: boolean
  /** Memory of `SlotActivity`. */
  readonly activity: SharedArrayBuffer
  /** Ports to the other slots by slot number; undefined at the own number. */
  readonly peers: readonly (MessagePortLike | undefined)[]
}

/** Main thread to slot. */
export type SlotCommand =
  | { readonly kind: 'deploy'; readonly attempt: number; readonly deployment: SlotDeployment }
  /** Every slot has restored its state: sources may read. */
  | { readonly kind: 'start'; readonly attempt: number }
  /** `stopAfter`: sources deliver no records after this barrier until `resume`. */
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
  /** Sources continue after a stop that failed. */
  | { readonly kind: 'resume'; readonly attempt: number }
  /** Sources end as if their input had ended. */
  | { readonly kind: 'drain'; readonly attempt: number }
  /** Every input has ended and the job takes no checkpoints: prepare and commit directly. */
  | { readonly kind: 'commit'; readonly attempt: number; readonly checkpointId: number }
  /** Close the attempt. */
  | { readonly kind: 'close'; readonly attempt: number }
  | {
      readonly kind: 'operator-event'
      readonly attempt: number
      readonly uid: string
      /** Undefined: every subtask. */
      readonly subtask: number | undefined
      readonly event: unknown
    }
  | {
      readonly kind: 'metrics'
      readonly attempt: number
      readonly request: number
      /** Uid of an operator whose records by key group are reported in place of the metrics. */
      readonly keyGroupsOf: string | undefined
    }
  | { readonly kind: 'ping'; readonly attempt: number }
  /** Another slot opened or dropped a row table, which can be read in place. */
  | {
      readonly kind: 'peer-table-opened'
      readonly attempt: number
      /** Number of the table in the attempt; `peer-table-known` acknowledges it. */
      readonly number: number
      readonly share: RowTableShare
    }
  | {
      readonly kind: 'peer-table-dropped'
      readonly attempt: number
      readonly operatorUid: string
      readonly state: string
      readonly version: number
      readonly slot: number
    }
  /** A port to a query thread, which sends requests on it and gets the replies. */
  | { readonly kind: 'attach-query'; readonly attempt: number; readonly port: MessagePortLike }

/** The record at which an operator failed. */
export interface FailedRecord {
  /** Uid of the source that read it. */
  readonly source: string
  /** Topic that the source reads; undefined for none. */
  readonly topic?: string | undefined
  readonly partition: number
  readonly offset: number
}

/** Failure of a slot's part of an attempt. */
export interface SlotFailure {
  readonly kind: 'failed'
  readonly attempt: number
  readonly task: string
  /** Name of the operator that threw; undefined when the slot itself failed. */
  readonly operator: string | undefined
  /** Code of the user in front of the operator that threw, such as a key selector; undefined for the operator. */
  readonly part?: string | undefined
  readonly code: string
  readonly message: string
  readonly stack: string | undefined
  /** The innermost call in code of the user; undefined where there is none, or where the error is one of Weir's. */
  readonly place?: string | undefined
  /** What caused the error, outermost first. @default nothing */
  readonly causes?: readonly string[]
  /** The record that the operator worked on; undefined for none. */
  readonly record?: FailedRecord | undefined
  /** The key that it worked on, as JSON. */
  readonly key?: string | undefined
  /** Event time of the record or timer, ms. */
  readonly timestamp?: number | undefined
  /** Whether it is an error of asynchronous code that nothing handled. */
  readonly stray?: boolean
}

/** Slot to main thread. */
export type SlotReport =
  /** Operators are open and the state is restored, without what was dropped. */
  | {
      readonly kind: 'restored'
      readonly attempt: number
      readonly fingerprint: string
      readonly dropped: readonly DroppedState[]
    }
  | { readonly kind: 'running'; readonly attempt: number }
  | { readonly kind: 'ack'; readonly attempt: number; readonly ack: CheckpointAck }
  | { readonly kind: 'decline'; readonly attempt: number; readonly decline: CheckpointDecline }
  /** All inputs of every subtask of the slot have ended. */
  | { readonly kind: 'ended'; readonly attempt: number }
  /** The slot has committed its part of the checkpoint. */
  | { readonly kind: 'committed'; readonly attempt: number; readonly checkpointId: number }
  /** The slot has ended its part of the attempt; what its accumulators hold after that. */
  | {
      readonly kind: 'closed'
      readonly attempt: number
      readonly accumulators: readonly AccumulatorPart[]
      /** What the first operator threw that could not be closed. */
      readonly failure?: SlotFailure | undefined
    }
  /** The slot's part of the attempt failed. */
  | SlotFailure
  /** A problem that does not stop the slot, but that the job's operator must see. */
  | {
      readonly kind: 'warning'
      readonly attempt: number
      readonly code: ErrorCode
      readonly message: string
      /** Those of the warning, which say what it waits for if it is about a wait (`waitIn`). */
      readonly details: ErrorDetails
    }
  | { readonly kind: 'table-opened'; readonly attempt: number; readonly share: RowTableShare }
  | {
      readonly kind: 'table-dropped'
      readonly attempt: number
      readonly operatorUid: string
      readonly state: string
      readonly version: number
    }
  /** The slot reads this table, and those with lower numbers that were sent to it. */
  | { readonly kind: 'peer-table-known'; readonly attempt: number; readonly number: number }
  /** The slot holds a part of a typed state that clients may query by name. */
  | {
      readonly kind: 'typed-state-declared'
      readonly attempt: number
      readonly share: TypedStateShare
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
      /** Undefined when the request is for the records of an operator by key group. */
      readonly accumulators: readonly AccumulatorPart[] | undefined
    }
  | { readonly kind: 'pong'; readonly attempt: number }
