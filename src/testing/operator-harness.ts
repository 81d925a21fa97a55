import { ByteWriter } from '../core/byte-writer.ts'
import { WeirError } from '../core/errors.ts'
import { containsKeyGroup, keyGroupOf } from '../core/key-group.ts'
import { MetricGroup } from '../core/metrics.ts'
import { count, objectWith, wholeNumber } from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import { NO_POSITION, type SourcePosition } from '../core/position.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../core/time.ts'
import { type DeferringOperator, isDeferring } from '../operators/port/deferring.ts'
import { requireTime } from '../operators/port/event-time.ts'
import { guardRecords } from '../operators/port/failed-record.ts'
import { isFiring } from '../operators/port/firing.ts'
import {
  isWatermarking,
  type OperatorContext,
  type Output,
  passedWatermark,
  type StreamOperator,
} from '../operators/port/operator.ts'
import type { Redistribution } from '../operators/port/operator-state.ts'
import { type OutputTag, requireTag } from '../operators/port/output-tag.ts'
import {
  restoredWatermark,
  STORED_WATERMARKS,
  watermarkEntries,
} from '../operators/port/stored-watermark.ts'
import { DEFAULT_JOB_CONFIGURATION } from '../runtime/configuration/configuration.ts'
import { OperatorStateMemory } from '../runtime/subtask/operator-state-memory.ts'
import { TaskAccumulators } from '../runtime/subtask/task-accumulators.ts'
import { StateCatalog } from '../state/catalog/state-catalog.ts'
import type { StateDescriptor } from '../state/port/descriptors.ts'
import type { KeyedStateBackend } from '../state/port/keyed-state-backend.ts'
import { HARNESS, type HarnessOptions } from './harness-options.ts'
import {
  beginRestore,
  copyKeyedState,
  countEntries,
  type HarnessSnapshot,
  shareOfOperatorState,
} from './harness-snapshot.ts'
import { openHarnessState } from './harness-state.ts'
import { HarnessStates, type StateHolder } from './harness-states.ts'
import { ManualClock } from './manual-clock.ts'

/** Where a record comes from. */
const RECORD: OptionShape<{ readonly input?: number; readonly position?: SourcePosition }> = {
  input: wholeNumber({ min: 0 }),
  position: objectWith('a position with source, partition and offset'),
}

/** A result. */
export interface HarnessRecord<T> {
  readonly value: T
  readonly timestamp: number
}

/**
 * A harness that runs one operator synchronously, as one subtask does. A test gives it records and watermarks,
 * advances its clock, reads results, side outputs and watermarks, and copies and restores state at any
 * parallelism. Above 300 lines, because the context that it gives the operator is here, too.
 */
export class OperatorHarness<IN = unknown, OUT = unknown> {
  readonly clock: ManualClock
  readonly metrics = new MetricGroup()
  /** Results, oldest first. */
  readonly outputs: HarnessRecord<OUT>[] = []
  /** Emitted watermarks, oldest first. */
  readonly watermarks: number[] = []
  /** Events to the operator's coordinator, oldest first. */
  readonly events: unknown[] = []
  /** The accumulators that the operator's function added. */
  readonly accumulators = new TaskAccumulators()
  readonly keyedState: KeyedStateBackend | undefined
  /** Reads the state of the operator by its descriptors. */
  readonly states: HarnessStates
  /** For the harnesses of several operators. */
  readonly holder: StateHolder
  private readonly operator: StreamOperator
  private readonly deferring: DeferringOperator | undefined
  private readonly options: HarnessOptions
  private readonly operatorState: OperatorStateMemory
  private readonly sides = new Map<string, HarnessRecord<unknown>[]>()
  private readonly maxParallelism: number
  private readonly key = new ByteWriter(64)
  private watermarkIn = MIN_TIMESTAMP
  private current: SourcePosition = NO_POSITION

  /** Creates the operator's state, restores the given snapshots, and opens the operator. */
  static async open<IN = unknown, OUT = unknown>(
    options: HarnessOptions,
  ): Promise<OperatorHarness<IN, OUT>> {
    checkOptions('OperatorHarness.open', HARNESS, options)
    const clock = options.clock ?? new ManualClock()
    const queryable = new Map<string, StateDescriptor>()
    const keyedState =
      options.keys === undefined
        ? undefined
        : await openHarnessState(options, clock, (descriptor) => {
            queryable.set(descriptor.queryableName!, descriptor)
          })
    const harness = new OperatorHarness<IN, OUT>(options, clock, { keyedState, queryable })
    const { onError: policy, name: operator = 'operator' } = options
    if (policy !== undefined) {
      guardRecords(harness.operator, {
        policy,
        operator,
        output: harness.output(),
        failed: harness.metrics.counter('numRecordsFailed'),
        position: () => ({ source: 0, ...harness.current }),
        topicOf: () => undefined,
        key: () => keyedState?.currentKey(),
        isOfAnother: () => false,
      })
    }
    const endRestore = beginRestore(keyedState, options.restore)
    const context = harness.context()
    await harness.operator.open(context)
    endRestore?.()
    // The operator opened before its timers came.
    if (endRestore !== undefined) context.scheduleProcessingTime(clock.nowMs())
    return harness
  }

  private constructor(
    options: HarnessOptions,
    clock: ManualClock,
    {
      keyedState,
      queryable,
    }: {
      readonly keyedState: KeyedStateBackend | undefined
      readonly queryable: ReadonlyMap<string, StateDescriptor>
    },
  ) {
    this.options = options
    this.operator = options.operator
    this.deferring = isDeferring(options.operator) ? options.operator : undefined
    this.clock = clock
    this.keyedState = keyedState
    this.maxParallelism = options.maxParallelism ?? 128
    const { restore = [], subtask = 0, parallelism = 1, operator } = options
    this.holder = {
      ...{ uid: options.name ?? 'operator', operator, queryable },
      keyed: keyedState && { state: keyedState, serializer: options.keys!.serializer },
      maxParallelism: this.maxParallelism,
    }
    this.states = new HarnessStates([this.holder])
    this.operatorState = new OperatorStateMemory(
      restore.length === 0
        ? undefined
        : shareOfOperatorState(restore, {
            subtask,
            parallelism,
            maxParallelism: this.maxParallelism,
          }),
    )
    if (keyedState === undefined) return
    const { maxParallelism, operatorState } = this
    const restored = restoredWatermark({ subtask, parallelism, maxParallelism, operatorState })
    this.watermarkIn = restored.watermark
  }

  /** Whether the operator emits results later. */
  get isAsynchronous(): boolean {
    return this.deferring !== undefined
  }

  /** Values of the results, oldest first. */
  get values(): OUT[] {
    return this.outputs.map((record) => record.value)
  }

  /** Removes and returns the results so far. */
  take(): OUT[] {
    return this.outputs.splice(0).map((record) => record.value)
  }

  /** Records of a side output, oldest first. */
  sideOutput<T>(tag: OutputTag<T>): HarnessRecord<T>[] {
    requireTag(tag, 'harness.sideOutput')
    return (this.sides.get(tag.id) ?? []) as HarnessRecord<T>[]
  }

  /**
   * Processes one record. Throws NOT_OWNER when the key of its input belongs to another subtask, INVALID_ARGUMENT for
   * a timestamp that is no whole number.
   */
  process(
    value: IN,
    timestamp = -1,
    options: { readonly input?: number; readonly position?: SourcePosition } = {},
  ): void {
    requireTime(timestamp, 'the timestamp of a record')
    checkOptions('harness.process', RECORD, options)
    const input = options.input ?? 0
    this.selectKey(value, input)
    this.current = options.position ?? NO_POSITION
    this.operator.processElement(input, value, timestamp)
    this.current = NO_POSITION
    if (isWatermarking(this.operator)) this.forward(this.operator.outputWatermark())
  }

  /** Advances the watermark of all inputs. A smaller or equal one is ignored. */
  watermark(timestamp: number): void {
    requireTime(timestamp, 'a watermark')
    if (timestamp <= this.watermarkIn) return
    this.watermarkIn = timestamp
    this.operator.processWatermark(timestamp)
    this.fireTimers()
    if (isWatermarking(this.operator) && timestamp !== MAX_TIMESTAMP) return
    const passed = passedWatermark(this.operator, timestamp)
    if (this.deferring === undefined) this.forward(passed)
    else this.deferring.afterInFlight(() => this.forward(passed), true)
  }

  /** Lets promises settle, then emits the results of asynchronous calls that are ready. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    while (this.deferring?.emitNext() === true);
    this.current = NO_POSITION
  }

  /** Advances the wall clock; due processing-time timers fire. */
  advanceTime(ms: number): void {
    this.clock.advance(ms)
  }

  /** Ends all inputs: the last watermark, then the end. */
  endInput(inputs = 1): void {
    checkArgument('harness.endInput', 'inputs', count, inputs)
    this.watermark(MAX_TIMESTAMP)
    for (let input = 0; input < inputs; input++) this.operator.endInput(input)
  }

  /** Entries of keyed state of all keys and windows, without timers. */
  numKeyedStateEntries(): number {
    return countEntries(this.keyedState, (state) => !state.startsWith('timers:'))
  }

  /** Event-time timers of all keys. */
  numEventTimeTimers(): number {
    return countEntries(this.keyedState, (state) => state === 'timers:event-timers')
  }

  /** Processing-time timers of all keys. */
  numProcessingTimeTimers(): number {
    return countEntries(this.keyedState, (state) => state === 'timers:processing-timers')
  }

  /** Takes a snapshot of all state. */
  async snapshot(checkpointId = 1): Promise<HarnessSnapshot> {
    checkArgument('harness.snapshot', 'checkpointId', count, checkpointId)
    await this.operator.prepareSnapshot(checkpointId)
    const { keyedState, operatorState, maxParallelism } = this
    let keyed: ReturnType<typeof copyKeyedState> = { declarations: [], entries: [] }
    if (keyedState !== undefined) {
      keyed = copyKeyedState(keyedState, checkpointId)
      const entries = watermarkEntries(keyedState.keyGroups, this.watermarkIn)
      if (entries.length > 0) operatorState.update(STORED_WATERMARKS, 'union', entries)
    }
    return { maxParallelism, ...keyed, operatorState: operatorState.entries() }
  }

  /** Informs the operator that a checkpoint is durable. */
  async completeCheckpoint(checkpointId = 1): Promise<void> {
    checkArgument('harness.completeCheckpoint', 'checkpointId', count, checkpointId)
    await this.operator.checkpointCompleted(checkpointId)
  }

  /** Closes the operator and its state. */
  async close(): Promise<void> {
    await this.operator.close()
    this.keyedState?.close()
  }

  private fireTimers(): void {
    if (isFiring(this.operator)) this.operator.fireDue(Number.POSITIVE_INFINITY)
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
        isRestored: this.operatorState.isRestored,
        restored: (state: string) => this.operatorState.restored(state),
        leaveOver: (state: string, bytes: number) => this.operatorState.leaveOver(state, bytes),
        update: (state: string, spread: Redistribution, entries: readonly Uint8Array[]) =>
          this.operatorState.update(state, spread, entries),
      },
      clock: this.clock,
      metrics: this.metrics,
      mostTimersAtEnd: DEFAULT_JOB_CONFIGURATION.mostTimersAtEnd,
      addAccumulator: (name, accumulator) => this.accumulators.addAccumulator(name, accumulator),
      getAccumulator: (name) => this.accumulators.getAccumulator(name),
      position: () => this.current,
      rowTables: new StateCatalog(),
      currentWatermark: () => this.watermarkIn,
      scheduleProcessingTime: (timestampMs) => {
        this.clock.after(timestampMs - this.clock.nowMs(), () => {
          this.operator.onProcessingTime(timestampMs)
          this.fireTimers()
        })
      },
      wake: () => {},
      resumeAt: (position) => {
        this.current = position
      },
      suspend: () => {
        throw new WeirError('ILLEGAL_STATE', 'a harness runs an operator without pauses')
      },
      storedRows: () =>
        Promise.reject(new WeirError('ILLEGAL_STATE', 'a harness has no other slots')),
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
