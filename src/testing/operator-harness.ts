import { ByteWriter } from '../core/byte-writer.ts'
import { WeirError } from '../core/errors.ts'
import { containsKeyGroup, keyGroupOf, keyGroupRangeOf } from '../core/key-group.ts'
import { MetricGroup } from '../core/metrics.ts'
import { NO_POSITION, type SourcePosition } from '../core/position.ts'
import type { Serializer } from '../core/serializer.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../core/time.ts'
import {
  isWatermarking,
  type OperatorContext,
  type Output,
  type StreamOperator,
} from '../operators/operator.ts'
import type { Redistribution } from '../operators/operator-state.ts'
import type { OutputTag } from '../operators/output-tag.ts'
import { OperatorStateMemory } from '../runtime/operator-state-memory.ts'
import type { KeyedStateBackend } from '../state/keyed-state-backend.ts'
import { RowTableDirectory } from '../state/row-table-directory.ts'
import { createKeyedStateBackend } from '../state/slot-keyed-state.ts'
import {
  copyKeyedState,
  type HarnessSnapshot,
  restoreKeyedState,
  shareOfOperatorState,
} from './harness-snapshot.ts'
import { ManualClock } from './manual-clock.ts'

/** How records of a keyed input get their keys. */
export interface HarnessKeys {
  /** By input; an input without selector is not keyed (a broadcast side). */
  readonly selectors: readonly (((value: never) => unknown) | undefined)[]
  readonly serializer: Serializer<unknown>
}

/** Options of a harness. */
export interface HarnessOptions {
  readonly operator: StreamOperator
  /** Missing: the operator has no keyed state. */
  readonly keys?: HarnessKeys
  /** @default 'operator' */
  readonly name?: string
  readonly subtask?: number
  readonly parallelism?: number
  readonly maxParallelism?: number
  readonly clock?: ManualClock
  /** Snapshots of all former subtasks, in their order. */
  readonly restore?: readonly HarnessSnapshot[]
}

/** A record that came out. */
export interface HarnessRecord<T> {
  readonly value: T
  readonly timestamp: number
}

/**
 * Drives one operator synchronously, as one subtask would: records in, results, side outputs and
 * watermarks out, time moved by hand, state copied out and restored at any parallelism.
 */
export class OperatorHarness<IN = unknown, OUT = unknown> {
  readonly clock: ManualClock
  readonly metrics = new MetricGroup()
  /** Results, oldest first. */
  readonly outputs: HarnessRecord<OUT>[] = []
  /** Watermarks that went downstream, oldest first. */
  readonly watermarks: number[] = []
  /** What the operator sent to its coordinator. */
  readonly events: unknown[] = []
  readonly keyedState: KeyedStateBackend | undefined
  private readonly operator: StreamOperator
  private readonly options: HarnessOptions
  private readonly operatorState: OperatorStateMemory
  private readonly sides = new Map<string, HarnessRecord<unknown>[]>()
  private readonly maxParallelism: number
  private readonly key = new ByteWriter(64)
  private watermarkIn = MIN_TIMESTAMP
  private current: SourcePosition = NO_POSITION

  /** Makes the operator's state, restores it if snapshots are given, and opens the operator. */
  static async open<IN = unknown, OUT = unknown>(
    options: HarnessOptions,
  ): Promise<OperatorHarness<IN, OUT>> {
    const clock = options.clock ?? new ManualClock()
    const keyedState = options.keys === undefined ? undefined : await openKeyedState(options, clock)
    const harness = new OperatorHarness<IN, OUT>(options, clock, keyedState)
    await harness.operator.open(harness.context())
    return harness
  }

  /** For `open`. */
  private constructor(
    options: HarnessOptions,
    clock: ManualClock,
    keyedState: KeyedStateBackend | undefined,
  ) {
    this.options = options
    this.operator = options.operator
    this.clock = clock
    this.keyedState = keyedState
    this.maxParallelism = options.maxParallelism ?? 128
    const { restore = [], subtask = 0, parallelism = 1 } = options
    this.operatorState = new OperatorStateMemory(
      restore.length === 0
        ? new Map()
        : shareOfOperatorState(restore, subtask, parallelism, this.maxParallelism),
    )
    if (keyedState !== undefined && restore.length > 0) restoreKeyedState(keyedState, restore)
  }

  /** Values of the results, oldest first. */
  get values(): OUT[] {
    return this.outputs.map((record) => record.value)
  }

  /** Forgets and returns the results so far. */
  take(): OUT[] {
    return this.outputs.splice(0).map((record) => record.value)
  }

  /** Records of a side output, oldest first. */
  sideOutput<T>(tag: OutputTag<T>): HarnessRecord<T>[] {
    return (this.sides.get(tag.id) ?? []) as HarnessRecord<T>[]
  }

  /**
   * Gives one record. A record of a keyed input whose key belongs to another subtask throws
   * NOT_OWNER.
   */
  process(
    value: IN,
    timestamp = -1,
    options: { readonly input?: number; readonly position?: SourcePosition } = {},
  ): void {
    const input = options.input ?? 0
    this.selectKey(value, input)
    this.current = options.position ?? NO_POSITION
    this.operator.processElement(input, value, timestamp)
    this.current = NO_POSITION
    if (isWatermarking(this.operator)) this.forward(this.operator.outputWatermark())
  }

  /** Moves the watermark over all inputs; one that does not grow is ignored. */
  watermark(timestamp: number): void {
    if (timestamp <= this.watermarkIn) return
    this.watermarkIn = timestamp
    this.operator.processWatermark(timestamp)
    if (!isWatermarking(this.operator) || timestamp === MAX_TIMESTAMP) this.forward(timestamp)
  }

  /** Moves the wall clock on; processing-time timers fire on the way. */
  advanceTime(ms: number): void {
    this.clock.advance(ms)
  }

  /** Ends all inputs: the last watermark, then the end. */
  endInput(inputs = 1): void {
    this.watermark(MAX_TIMESTAMP)
    for (let input = 0; input < inputs; input++) this.operator.endInput(input)
  }

  /** Takes a snapshot of all its state. */
  async snapshot(checkpointId = 1): Promise<HarnessSnapshot> {
    await this.operator.prepareSnapshot(checkpointId)
    const keyed =
      this.keyedState === undefined
        ? { declarations: [], entries: [] }
        : copyKeyedState(this.keyedState, checkpointId)
    return {
      maxParallelism: this.maxParallelism,
      ...keyed,
      operatorState: this.operatorState.entries(),
    }
  }

  /** Tells the operator that a checkpoint is durable. */
  async completeCheckpoint(checkpointId = 1): Promise<void> {
    await this.operator.checkpointCompleted(checkpointId)
  }

  /** Closes the operator and its state. */
  async close(): Promise<void> {
    await this.operator.close()
    this.keyedState?.close()
  }

  private forward(watermark: number): void {
    if (watermark > (this.watermarks.at(-1) ?? MIN_TIMESTAMP)) this.watermarks.push(watermark)
  }

  private selectKey(value: IN, input: number): void {
    const { keys } = this.options
    const selector = keys?.selectors[input]
    if (keys === undefined || selector === undefined) return
    this.key.reset()
    keys.serializer.write(selector(value as never), this.key)
    const bytes = this.key.toBytes()
    const group = keyGroupOf(bytes, this.maxParallelism)
    if (!containsKeyGroup(this.keyedState!.keyGroups, group)) {
      throw new WeirError('NOT_OWNER', `key group ${group} belongs to another subtask`)
    }
    this.keyedState!.setCurrentKey(bytes, group)
    this.keyedState!.setCurrentNamespace(new Uint8Array(0))
  }

  private context(): OperatorContext {
    const { name = 'operator', subtask = 0, parallelism = 1 } = this.options
    return {
      uid: name,
      name,
      subtask,
      parallelism,
      maxParallelism: this.maxParallelism,
      attempt: 1,
      output: this.output(),
      keyedState: this.keyedState,
      operatorState: {
        restored: (state: string) => this.operatorState.restored(state),
        update: (state: string, spread: Redistribution, entries: readonly Uint8Array[]) =>
          this.operatorState.update(state, spread, entries),
      },
      clock: this.clock,
      metrics: this.metrics,
      position: () => this.current,
      rowTables: new RowTableDirectory(),
      currentWatermark: () => this.watermarkIn,
      scheduleProcessingTime: (timestampMs) => {
        this.clock.after(timestampMs - this.clock.nowMs(), () =>
          this.operator.onProcessingTime(timestampMs),
        )
      },
      sendEvent: (event) => {
        this.events.push(event)
      },
    }
  }

  private output(): Output<unknown> {
    return {
      collect: (value, timestamp) => {
        this.outputs.push({ value: value as OUT, timestamp })
      },
      collectSide: (tagId, value, timestamp) => {
        const records = this.sides.get(tagId) ?? []
        records.push({ value, timestamp })
        this.sides.set(tagId, records)
      },
    }
  }
}

async function openKeyedState(
  options: HarnessOptions,
  clock: ManualClock,
): Promise<KeyedStateBackend> {
  const { subtask = 0, parallelism = 1, maxParallelism = 128, name = 'operator' } = options
  return await createKeyedStateBackend({
    operatorUid: name,
    slot: subtask,
    keyGroups: keyGroupRangeOf(subtask, parallelism, maxParallelism),
    maxParallelism,
    storeType: 'heap',
    storeDirectory: '',
    memoryBudgetBytes: 2 ** 26,
    clock,
    listener: { tableOpened() {}, tableDropped() {} },
    metrics: new MetricGroup(),
  })
}
