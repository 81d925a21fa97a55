import type { Clock } from '../core/clock.ts'
import type { MetricGroup } from '../core/metrics.ts'
import type { SourcePosition } from '../core/position.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../core/time.ts'
import type { StreamNode } from '../dataflow/stream-graph.ts'
import {
  type ChainSource,
  isWatermarking,
  type OperatorContext,
  type Output,
  type StreamOperator,
  type WatermarkingOperator,
} from '../operators/operator.ts'
import type { KeyedStateBackend } from '../state/keyed-state-backend.ts'
import type { RowTableDirectory } from '../state/row-table-directory.ts'
import type { ControlMessage } from './channel-message.ts'
import type { KeyedStateCell } from './keyed-state-cell.ts'
import { blame } from './operator-failure.ts'
import type { OperatorStateMemory } from './operator-state-memory.ts'
import type { OutputChannel } from './output-channel.ts'

/** What an operator may ask of the subtask that runs it. */
export interface OperatorHost {
  readonly attempt: number
  readonly clock: Clock
  readonly rowTables: RowTableDirectory
  /** The source of the chain, if it begins with one. */
  readonly source: ChainSource | undefined
  position(): SourcePosition
  scheduleProcessingTime(task: OperatorTask, timestampMs: number): void
  sendEvent(uid: string, event: unknown): void
}

/** One operator of a subtask with its state, its place in the chain and its outgoing channels. */
export class OperatorTask {
  readonly node: StreamNode
  readonly operator: StreamOperator
  readonly cell: KeyedStateCell | undefined
  readonly operatorState: OperatorStateMemory
  readonly metrics: MetricGroup
  /** Operators that it calls directly. */
  readonly children: OperatorTask[] = []
  /** Channels of all its edges to other chains. */
  readonly channels: OutputChannel[] = []
  readonly watermarking: WatermarkingOperator | undefined
  readonly gated: boolean
  currentWatermark = MIN_TIMESTAMP
  currentOutputWatermark = MIN_TIMESTAMP
  private outputIdle = false

  constructor(
    node: StreamNode,
    operator: StreamOperator,
    cell: KeyedStateCell | undefined,
    operatorState: OperatorStateMemory,
    metrics: MetricGroup,
  ) {
    this.node = node
    this.operator = operator
    this.cell = cell
    this.operatorState = operatorState
    this.metrics = metrics
    this.watermarking = isWatermarking(operator) ? operator : undefined
    this.gated = operator.ready !== undefined
    metrics.gauge('currentInputWatermark', () => this.currentWatermark)
    metrics.gauge('currentOutputWatermark', () => this.currentOutputWatermark)
  }

  /** Opens the operator. */
  async open(output: Output, subtask: number, host: OperatorHost): Promise<void> {
    try {
      await this.operator.open(new TaskContext(this, output, subtask, host))
    } catch (error) {
      throw blame(error, this.node)
    }
  }

  /** Makes a call of the operator's life and notes that it was this one that threw. */
  call<T>(call: (operator: StreamOperator) => T): T {
    try {
      return call(this.operator)
    } catch (error) {
      throw blame(error, this.node)
    }
  }

  /** The watermark of the inputs grew: the operator fires timers, then it goes on downstream. */
  advanceWatermark(watermark: number): void {
    if (watermark <= this.currentWatermark) return
    this.currentWatermark = watermark
    this.call((operator) => operator.processWatermark(watermark))
    if (this.watermarking === undefined || watermark === MAX_TIMESTAMP) {
      this.emitWatermark(watermark)
    }
  }

  /** Forwards the watermark that the operator itself makes, if it grew. */
  pollWatermark(): void {
    if (this.watermarking === undefined) return
    this.emitWatermark(this.watermarking.outputWatermark())
    this.emitIdle(this.watermarking.outputIdle())
  }

  /** Inputs became idle or active again. */
  setIdle(idle: boolean): void {
    if (this.watermarking === undefined) this.emitIdle(idle)
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
    for (const child of this.children) child.setIdle(idle)
    this.control((channel) => ({ kind: 'idle', channel, idle }))
  }
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
  readonly keyedState: KeyedStateBackend | undefined
  readonly operatorState: OperatorStateMemory
  readonly clock: Clock
  readonly metrics: MetricGroup
  private readonly task: OperatorTask
  private readonly host: OperatorHost

  constructor(task: OperatorTask, output: Output, subtask: number, host: OperatorHost) {
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
    this.keyedState = task.cell?.backend
    this.operatorState = task.operatorState
    this.clock = host.clock
    this.metrics = task.metrics
  }

  get rowTables(): RowTableDirectory {
    return this.host.rowTables
  }

  get source(): ChainSource | undefined {
    return this.host.source
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

  sendEvent(event: unknown): void {
    this.host.sendEvent(this.task.node.uid, event)
  }
}
