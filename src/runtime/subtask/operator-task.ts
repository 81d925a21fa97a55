import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import type { SourcePosition } from '../../core/position.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP, NO_TIMESTAMP } from '../../core/time.ts'
import type { StreamNode } from '../../dataflow/stream-graph.ts'
import type { Accumulator, AccumulatorAccess } from '../../operators/port/accumulator.ts'
import { type DeferringOperator, isDeferring } from '../../operators/port/deferring.ts'
import { guardRecords } from '../../operators/port/failed-record.ts'
import { type FiringOperator, isFiring } from '../../operators/port/firing.ts'
import {
  type ChainSource,
  isWatermarking,
  type LongCallSteps,
  type OperatorContext,
  type Output,
  passedWatermark,
  type StoredRows,
  type StreamOperator,
  type WatermarkingOperator,
} from '../../operators/port/operator.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { VectorRow } from '../../state/port/handles.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { ControlMessage } from '../channel/message.ts'
import type { OutputChannel } from '../channel/output.ts'
import type { CallSequence } from '../pacing/call-sequence.ts'
import type { TimerPasses } from '../pacing/timer-passes.ts'
import type { CheckpointedState } from './checkpointed-state.ts'
import { blame, culpritOf, nameCalls } from './operator-failure.ts'
import type { OperatorStateMemory } from './operator-state-memory.ts'

/** The subtask that runs an operator, as the operator's task sees it. */
export interface OperatorHost {
  readonly name: string
  readonly attempt: number
  readonly clock: Clock
  readonly rowTables: StateCatalog
  readonly accumulators: AccumulatorAccess
  /** The source of the chain, if it begins with one. */
  readonly source: ChainSource | undefined
  position(): SourcePosition
  scheduleProcessingTime(task: OperatorTask, timestampMs: number): void
  wake(): void
  resumeAt(position: SourcePosition): void
  readonly running: boolean
  readonly calls: CallSequence
  fail(error: unknown): void
  storedRows(asked: StoredRows): Promise<readonly (VectorRow | undefined)[]>
  sendEvent(uid: string, event: unknown): void
  readonly acceptsLostTransactions: boolean
  /** The slot. */
  readonly host: {
    topicOf(source: number): string | undefined
    readonly mostTimersAtEnd: number
    readonly namesCallers: boolean
    beginLongCall(node: number, total: number): LongCallSteps
  }
  warn(warning: WeirError): void
}

/** Options of an operator's task. */
export interface OperatorTaskOptions {
  readonly node: StreamNode
  readonly operator: StreamOperator
  readonly keyedState: CheckpointedState | undefined
  readonly operatorState: OperatorStateMemory
  readonly metrics: MetricGroup
  /** The watermark that its restored state has seen. */
  readonly restoredWatermark: number
}

/** One operator of a subtask with its state, its place in the chain and its outgoing channels. */
export class OperatorTask {
  readonly node: StreamNode
  readonly operator: StreamOperator
  readonly keyedState: CheckpointedState | undefined
  readonly operatorState: OperatorStateMemory
  readonly metrics: MetricGroup
  /** Operators that it calls directly. */
  readonly children: OperatorTask[] = []
  /** Channels of all its edges to other chains. */
  readonly channels: OutputChannel[] = []
  readonly watermarking: WatermarkingOperator | undefined
  readonly deferring: DeferringOperator | undefined
  readonly firing: FiringOperator | undefined
  readonly gated: boolean
  /** Whether no other operator of the chain calls it. */
  isFirst = false
  /** The passes of its subtask. */
  passes!: TimerPasses
  currentWatermark: number
  currentOutputWatermark = MIN_TIMESTAMP
  private outputIdle = false

  constructor(options: OperatorTaskOptions) {
    const { node, operator, keyedState, operatorState, metrics } = options
    this.currentWatermark = options.restoredWatermark
    this.node = node
    this.operator = operator
    this.keyedState = keyedState
    this.operatorState = operatorState
    this.metrics = metrics
    this.watermarking = isWatermarking(operator) ? operator : undefined
    this.deferring = isDeferring(operator) ? operator : undefined
    this.firing = isFiring(operator) ? operator : undefined
    this.gated = operator.ready !== undefined
    metrics.gauge('currentInputWatermark', () => this.currentWatermark)
    metrics.gauge('currentOutputWatermark', () => this.currentOutputWatermark)
  }

  /** Opens the operator. */
  async open(output: Output, subtask: number, host: OperatorHost): Promise<void> {
    this.guardRecords(output, host)
    if (host.host.namesCallers) nameCalls(this.operator, { name: host.name, operators: [this] })
    try {
      await this.operator.open(new TaskContext({ task: this, output, subtask, host }))
    } catch (error) {
      throw blame(error, this.node)
    }
  }

  private guardRecords(output: Output, host: OperatorHost): void {
    const { node, operator, metrics } = this
    if (node.onError === undefined) return
    if (this.deferring !== undefined) {
      if (node.isOnErrorOfJob === true) return
      throw new WeirError(
        'INVALID_GRAPH',
        `onError of operator "${node.name}", whose function is asynchronous: catch errors in asyncInvoke, or return what stands for a failed record`,
        { details: { operator: node.uid } },
      )
    }
    guardRecords(operator, {
      policy: node.onError,
      operator: node.uid,
      output,
      failed: metrics.counter('numRecordsFailed'),
      position: () => ({ source: 0, ...host.position() }),
      topicOf: (source) => host.host.topicOf(source),
      key: () => this.currentKey(),
      isOfAnother: (error) => culpritOf(error) !== undefined,
    })
  }

  /** Closes the operator. */
  async close(): Promise<void> {
    try {
      await this.operator.close()
    } catch (error) {
      throw blame(error, this.node)
    }
  }

  /** Calls the operator; if it throws, records that it was this operator. */
  call<T>(call: (operator: StreamOperator) => T): T {
    try {
      return call(this.operator)
    } catch (error) {
      throw blame(error, this.node)
    }
  }

  /** Bytes of the key of the record that it works on; undefined where its input is not keyed. */
  currentKey(): Uint8Array | undefined {
    return this.keyedState?.backend.currentKey()
  }

  /** The watermark of the inputs grew: the timers of the operator fire, then the watermark goes downstream. */
  advanceWatermark(watermark: number): void {
    if (watermark <= this.currentWatermark) return
    this.currentWatermark = watermark
    this.call((operator) => operator.processWatermark(watermark))
    this.afterTimers(() => {
      if (this.watermarking === undefined || watermark === MAX_TIMESTAMP) {
        const passed = passedWatermark(this.operator, watermark)
        this.afterInFlight(() => this.emitWatermark(passed), true)
      }
    })
  }

  /** Fires the timers that the watermark of the checkpoint has made due, and that had not fired. */
  resumeTimers(): void {
    if (this.currentWatermark > MIN_TIMESTAMP) this.afterTimers(() => {})
  }

  /** The wall clock has reached a time that the operator asked for. */
  advanceProcessingTime(timestampMs: number): void {
    this.call((operator) => operator.onProcessingTime(timestampMs))
    this.afterTimers(() => {})
  }

  get isInRecord(): boolean {
    return this.firing?.isInRecord === true
  }

  /** Fires up to `most` due timers; returns their number. */
  fireDue(most: number): number {
    try {
      return this.firing?.fireDue(most) ?? 0
    } catch (error) {
      throw this.blame(error, this.firing?.firingAt)
    }
  }

  /** As the function `blame`, with the current key and the event time of the record or timer. */
  blame(thrown: unknown, timestamp: number | undefined): object {
    const isTimed = timestamp !== undefined && timestamp !== NO_TIMESTAMP
    return blame(thrown, this.node, {
      key: this.keyedState?.currentKeyText(),
      ...(isTimed && { timestamp }),
    })
  }

  private afterTimers(action: () => void): void {
    if (this.firing === undefined) action()
    else this.passes.begin(this, action)
  }

  /** Forwards the watermark that the operator makes, if it grew. */
  pollWatermark(): void {
    if (this.watermarking === undefined) return
    this.emitWatermark(this.watermarking.outputWatermark())
    this.emitIdle(this.watermarking.outputIdle())
  }

  /** Inputs became idle or active again. */
  setIdle(idle: boolean): void {
    if (this.watermarking === undefined) this.afterInFlight(() => this.emitIdle(idle), true)
  }

  /** Calls when the operator has emitted the results of all records so far; see `DeferringOperator`. */
  afterInFlight(action: () => void, isBorder: boolean): void {
    if (this.deferring === undefined) action()
    else this.deferring.afterInFlight(action, isBorder)
  }

  /** Emits the results of one record that are ready; false when there are none. */
  emitNext(): boolean {
    try {
      return this.deferring?.emitNext() === true
    } catch (error) {
      throw blame(error, this.node)
    }
  }

  /** Sends a control message on every channel of this operator. */
  control(make: (channel: number) => ControlMessage): void {
    for (const channel of this.channels) channel.control(make(channel.id))
  }

  private emitWatermark(timestamp: number): void {
    if (timestamp <= this.currentOutputWatermark) return
    this.currentOutputWatermark = timestamp
    for (const child of this.children) child.advanceWatermark(timestamp)
    this.control((channel) => ({ kind: 'watermark', channel, timestamp }))
  }

  private emitIdle(idle: boolean): void {
    if (idle === this.outputIdle) return
    this.outputIdle = idle
    if (this.watermarking === undefined) this.call((operator) => operator.inputIdle?.(idle))
    for (const child of this.children) child.setIdle(idle)
    this.control((channel) => ({ kind: 'idle', channel, idle }))
  }
}

interface TaskContextOptions {
  readonly task: OperatorTask
  readonly output: Output
  readonly subtask: number
  readonly host: OperatorHost
}

/** The context of one operator: see OperatorContext. */
class TaskContext implements OperatorContext {
  readonly uid: string
  readonly name: string
  readonly subtask: number
  readonly parallelism: number
  readonly maxParallelism: number
  readonly attempt: number
  readonly output: Output
  readonly keyedState: KeyedState | undefined
  readonly operatorState: OperatorStateMemory
  readonly clock: Clock
  readonly metrics: MetricGroup
  private readonly task: OperatorTask
  private readonly host: OperatorHost

  constructor({ task, output, subtask, host }: TaskContextOptions) {
    const { node } = task
    this.task = task
    this.host = host
    this.uid = node.uid
    this.name = node.name
    this.subtask = subtask
    this.parallelism = node.parallelism
    this.maxParallelism = node.maxParallelism
    this.attempt = host.attempt
    this.output = output
    this.keyedState = task.keyedState?.backend
    this.operatorState = task.operatorState
    this.clock = host.clock
    this.metrics = task.metrics
  }

  get rowTables(): StateCatalog {
    return this.host.rowTables
  }

  get source(): ChainSource | undefined {
    return this.host.source
  }

  addAccumulator<A extends Accumulator>(name: string, accumulator: A): A {
    return this.host.accumulators.addAccumulator(name, accumulator)
  }

  getAccumulator<A extends Accumulator>(name: string): A | undefined {
    return this.host.accumulators.getAccumulator(name)
  }

  position(): SourcePosition {
    return this.host.position()
  }

  currentWatermark(): number {
    return this.task.currentWatermark
  }

  scheduleProcessingTime(timestampMs: number): void {
    this.host.scheduleProcessingTime(this.task, timestampMs)
  }

  wake(): void {
    this.host.wake()
  }

  resumeAt(position: SourcePosition): void {
    this.host.resumeAt(position)
  }

  suspend(work: () => Promise<void>): void {
    const { host, task } = this
    const { source = 0 } = host.position()
    void host.calls.suspendWhile(async () => {
      try {
        if (host.running) await work()
      } catch (error) {
        host.fail(blame(error, task.node))
      } finally {
        host.resumeAt({ partition: -1, offset: 0, source })
      }
    })
  }

  storedRows(asked: StoredRows): Promise<readonly (VectorRow | undefined)[]> {
    return this.host.storedRows(asked)
  }

  sendEvent(event: unknown): void {
    this.host.sendEvent(this.task.node.uid, event)
  }

  /** What an operator that calls this one does next may change the record, so that only the first of a chain may pause. */
  pauseRecord(): boolean {
    const { task } = this
    if (task.isFirst) task.passes.begin(task, () => {})
    return task.isFirst
  }

  /** Timers that fire come from no record; what follows comes from the present one again. */
  pollWatermark(): void {
    const { host } = this
    const { partition, offset, source = 0 } = host.position()
    host.resumeAt({ partition: -1, offset: 0, source })
    this.task.pollWatermark()
    host.resumeAt({ partition, offset, source })
  }

  beginLongCall(total: number): LongCallSteps {
    return this.host.host.beginLongCall(this.task.node.id, total)
  }

  get mostTimersAtEnd(): number {
    return this.host.host.mostTimersAtEnd
  }

  get acceptsLostTransactions(): boolean {
    return this.host.acceptsLostTransactions
  }

  warn(warning: WeirError): void {
    this.host.warn(warning)
  }
}
