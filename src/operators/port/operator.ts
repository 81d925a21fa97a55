import type { Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import type { Deadline } from '../../core/moment.ts'
import type { SourcePosition } from '../../core/position.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { VectorRow } from '../../state/port/handles.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { AccumulatorAccess } from './accumulator.ts'
import type { OperatorStateStore } from './operator-state.ts'
import type { SourceSplit } from './source.ts'

/**
 * The receiver of an operator's results: the next operator of the chain by direct call, or a channel. A
 * timestamp is event time in ms, -1 when there is none.
 */
export interface Output<T = unknown> {
  collect(value: T, timestamp: number): void
  /** Emits to the side output with this tag id. */
  collectSide(tagId: string, value: unknown, timestamp: number): void
}

/** The source of a chain, for an operator of the chain that decides where reading continues. */
export interface ChainSource {
  /** The next offset of each partition that it reads. */
  positions(): readonly SourceSplit[]
  /** Whether reading of the partition continued from a checkpoint in the current attempt. */
  isRestored(partition: number): boolean
  /**
   * From the current positions on, records are applied to one model version only: progress counts for
   * requests of this version, and for no request while it is undefined. @default every version
   */
  appliesTo(version: number | undefined): void
  /**
   * Continues reading at other offsets of its partitions. Until it has moved there, the chain reads no input
   * and a checkpoint waits.
   */
  seek(splits: readonly SourceSplit[]): void
}

/** A long call on its way. */
export interface LongCallSteps {
  /** It goes on to the next key. */
  step(): void
  end(): void
}

/** Rows of a vector state that a slot has in its store and not in memory, so that they cannot be read in place. */
export interface StoredRows {
  readonly slot: number
  readonly operatorUid: string
  readonly state: string
  readonly version: number
  /** Floats of a row. */
  readonly dimension: number
  readonly keys: readonly Uint8Array[]
}

/** Context of an operator, valid from `open` until `close`. */
export interface OperatorContext extends AccumulatorAccess {
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
  readonly keyedState: KeyedState | undefined
  readonly operatorState: OperatorStateStore
  /** The source of the operator's chain; undefined when the chain reads channels. */
  readonly source?: ChainSource | undefined
  /** Row tables of all slots of the job, which readers share in memory. */
  readonly rowTables: StateCatalog
  readonly clock: Clock
  readonly metrics: MetricGroup
  /** Position of the current source record; partition -1 in timers. */
  position(): SourcePosition
  /** The operator's current event-time watermark. */
  currentWatermark(): number
  /** Requests `onProcessingTime(timestamp)` when the wall clock is past it. The request is not part of state. */
  scheduleProcessingTime(timestampMs: number): void
  /** For a `DeferringOperator`: asks the runtime to call `emitNext` soon. */
  wake(): void
  /** For a `DeferringOperator`, and in `suspend`: what it emits from now on comes from the record at this position. */
  resumeAt(position: SourcePosition): void
  /**
   * Runs work that has to wait. Until it has settled, the chain takes no input and a checkpoint waits; records that the
   * source has already read may still come. The work calls `resumeAt` before it emits. An error fails the job.
   */
  suspend(work: () => Promise<void>): void
  /** Asks a slot, within `suspend`, for rows, in the order of the keys; undefined where there is none. Throws STORE_FAILED. */
  storedRows(asked: StoredRows): Promise<readonly (VectorRow | undefined)[]>
  /** Sends plain data to the job's coordinator of this operator on the main thread. */
  sendEvent(event: unknown): void
  /**
   * Whether a sink continues without restored transactions that the log or broker no longer knows.
   * @default false
   */
  readonly acceptsLostTransactions?: boolean
  /**
   * For a `FiringOperator` that has much left to do for the present record: asks the runtime to call `fireDue` until it is
   * done, before more input and checkpoints. False where the operator must do all of it at once.
   */
  pauseRecord?(): boolean
  /** Most event-time timers that functions may register once the input has ended. @default any number */
  readonly mostTimersAtEnd?: number
  /** Says that one call goes through so many keys: while it goes on, the slot does not count as lost. */
  beginLongCall?(total: number): LongCallSteps
  /** For a `WatermarkingOperator`: forwards its watermark now, before the next record. */
  pollWatermark?(): void
  /** Reports a problem after which the job continues. */
  warn?(warning: WeirError): void
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
   * Handles a new watermark over all inputs. Then the runtime fires the timers of a `FiringOperator`, and forwards the
   * watermark.
   */
  processWatermark(watermark: number): void
  /** Handles that no input holds the watermark back any more, or that one does again. */
  inputIdle?(idle: boolean): void
  /** Handles a scheduled processing time. */
  onProcessingTime(timestampMs: number): void
  /** Flushes what is in flight and writes operator state. The runtime snapshots keyed state itself. */
  prepareSnapshot(checkpointId: number): void | Promise<void>
  /** Until when a sink can commit what it has prepared. @default at any time */
  commitBy?(): Deadline | undefined
  /** Handles a durable checkpoint. The call can come late or never, so its effect must be repeatable. */
  checkpointCompleted(checkpointId: number): void | Promise<void>
  /** Handles an event of the coordinator, as an answer to `sendEvent` or not. */
  handleEvent(event: unknown): void
  /** Handles the end of an input: it has no more records. */
  endInput(input: number): void
  /** False while the operator accepts no input, such as a sink with full buffers. @default true */
  ready?(): boolean
  /** Resolves when `ready()` is true again; present whenever `ready` is. */
  whenReady?(): Promise<void>
  /** Sends what a sink has buffered; resolves when readers of its target can see it. */
  written?(): Promise<void>
  /**
   * How far its results may be behind the watermark of its inputs, in ms: the watermark goes on to the operators behind it
   * so much smaller, except the last one. @default 0
   */
  readonly watermarkDelayMs?: number
  close(): void | Promise<void>
}

/** The watermark that an operator without watermarks of its own passes on when its inputs have this one. */
export function passedWatermark(
  { watermarkDelayMs = 0 }: StreamOperator,
  watermark: number,
): number {
  return watermark === MAX_TIMESTAMP
    ? watermark
    : Math.max(MIN_TIMESTAMP, watermark - watermarkDelayMs)
}

/**
 * An operator that makes watermarks. The runtime calls `outputWatermark` after each slice of input and
 * forwards the watermark when it is larger. Watermarks of the input stop here, except the last one
 * (MAX_TIMESTAMP).
 */
export interface WatermarkingOperator extends StreamOperator {
  /** The watermark after the records so far, MIN_TIMESTAMP before the first. */
  outputWatermark(): number
  /** Whether its input has had no records for so long that it no longer holds back the watermark. */
  outputIdle(): boolean
}

/** Whether the operator makes watermarks. */
export function isWatermarking(operator: StreamOperator): operator is WatermarkingOperator {
  return 'outputWatermark' in operator && 'outputIdle' in operator
}
