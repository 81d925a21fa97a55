import type { Clock } from '../core/clock.ts'
import type { MetricGroup } from '../core/metrics.ts'
import type { SourcePosition } from '../core/position.ts'
import type { KeyedStateBackend } from '../state/keyed-state-backend.ts'
import type { RowTableDirectory } from '../state/row-table-directory.ts'
import type { OperatorStateStore } from './operator-state.ts'
import type { SourceSplit } from './source.ts'

/**
 * Where an operator's results go: the next operator of the chain by direct call, or a channel.
 * A timestamp is event time in ms, -1 when there is none.
 */
export interface Output<T = unknown> {
  collect(value: T, timestamp: number): void
  /** Emits to a side output declared with this tag id. */
  collectSide(tagId: string, value: unknown, timestamp: number): void
}

/** The source that feeds a chain, for an operator of the chain that decides where it goes on. */
export interface ChainSource {
  /** Where each partition that it reads goes on. */
  positions(): readonly SourceSplit[]
  /** Whether the partition was read before the present attempt, so that it went on from a checkpoint. */
  isRestored(partition: number): boolean
  /**
   * Goes on at other places of partitions that it reads. No input is taken until it is there, and a
   * checkpoint waits until then.
   */
  seek(splits: readonly SourceSplit[]): void
}

/** What an operator gets when it is opened; valid until it is closed. */
export interface OperatorContext {
  readonly uid: string
  readonly name: string
  /** 0 <= subtask < parallelism. */
  readonly subtask: number
  readonly parallelism: number
  readonly maxParallelism: number
  /** Attempt of the job, counted from 1. */
  readonly attempt: number
  readonly output: Output
  /** Keyed state; undefined when no input of the operator is keyed. */
  readonly keyedState: KeyedStateBackend | undefined
  readonly operatorState: OperatorStateStore
  /** The source of the operator's chain; undefined behind a channel. */
  readonly source?: ChainSource | undefined
  /** Row tables of all slots of the job, read in place. */
  readonly rowTables: RowTableDirectory
  readonly clock: Clock
  readonly metrics: MetricGroup
  /** Position of the source record being processed; partition -1 in timers. */
  position(): SourcePosition
  /** The operator's current event-time watermark. */
  currentWatermark(): number
  /** Asks for `onProcessingTime(timestamp)` once the wall clock reaches it; not state by itself. */
  scheduleProcessingTime(timestampMs: number): void
  /** Sends plain data to the job's coordinator of this operator on the main thread. */
  sendEvent(event: unknown): void
}

/**
 * A running operator of one subtask. All calls come from the slot's thread, one at a time. For a
 * keyed input the runtime has selected the record's key in `keyedState` before `processElement`.
 */
export interface StreamOperator {
  open(context: OperatorContext): void | Promise<void>
  /** One record; `input` is 0, or 1 for the second input of a two-input operator. */
  processElement(input: number, value: unknown, timestamp: number): void
  /**
   * The watermark over all inputs moved. The operator fires its event-time timers, then the runtime
   * forwards the watermark.
   */
  processWatermark(watermark: number): void
  /** A scheduled processing time was reached. */
  onProcessingTime(timestampMs: number): void
  /** Flushes what must not be in flight and writes operator state; keyed state is snapshotted apart. */
  prepareSnapshot(checkpointId: number): void | Promise<void>
  /** The checkpoint is durable. May come late or never: what it does must be repeatable. */
  checkpointCompleted(checkpointId: number): void | Promise<void>
  /** An event from the coordinator (answer to `sendEvent`, or its own). */
  handleEvent(event: unknown): void
  /** No more records will come on this input. */
  endInput(input: number): void
  /** False while the operator takes no more input (a sink with full buffers). @default true */
  ready?(): boolean
  /** Resolves when `ready()` is true again; present whenever `ready` is. */
  whenReady?(): Promise<void>
  close(): void | Promise<void>
}

/** An operator that can be full: it has `ready` and `whenReady`. */
export type GatedOperator = StreamOperator & Required<Pick<StreamOperator, 'ready' | 'whenReady'>>

/** Whether the operator can be full. */
export function isGated(operator: StreamOperator): operator is GatedOperator {
  return operator.ready !== undefined && operator.whenReady !== undefined
}

/**
 * An operator that makes watermarks of its own. The runtime asks `outputWatermark` after each slice
 * of input and forwards it when it grew; watermarks that come in stop here, except the last one
 * (MAX_TIMESTAMP).
 */
export interface WatermarkingOperator extends StreamOperator {
  /** The watermark after the records seen so far, MIN_TIMESTAMP before the first. */
  outputWatermark(): number
  /** Whether its input has been silent for so long that it no longer holds back the others. */
  outputIdle(): boolean
}

/** Whether the operator makes watermarks of its own. */
export function isWatermarking(operator: StreamOperator): operator is WatermarkingOperator {
  return 'outputWatermark' in operator && 'outputIdle' in operator
}
