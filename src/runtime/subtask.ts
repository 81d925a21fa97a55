import { type AlignmentState, newAlignment } from '../checkpoint/protocol/barrier-alignment.ts'
import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import type { Clock } from '../core/clock.ts'
import type { MetricGroup } from '../core/metrics.ts'
import { NO_POSITION } from '../core/position.ts'
import { MAX_TIMESTAMP } from '../core/time.ts'
import type { ChainSource } from '../operators/operator.ts'
import type { RowTableDirectory } from '../state/row-table-directory.ts'
import type { ControlMessage } from './channel-message.ts'
import type { OperatorHost, OperatorTask } from './operator-task.ts'
import type { OutputChannel } from './output-channel.ts'
import { ProcessingTimers } from './processing-timers.ts'
import type { RebalanceOutput } from './record-output.ts'
import type { SubtaskHead } from './subtask-head.ts'
import type { SubtaskSnapshot } from './subtask-snapshot.ts'
import { rateGauge, WorkMeter } from './work-meter.ts'

/** What a subtask tells the slot that runs it. */
export interface SubtaskHost {
  readonly attempt: number
  readonly clock: Clock
  /** Row tables of all slots. */
  readonly rowTables: RowTableDirectory
  /** There is work to do: the slot's loop must turn. */
  wake(): void
  sendEvent(uid: string, subtask: number, event: unknown): void
  /** An operator threw: the attempt is over. */
  failed(subtask: Subtask, error: unknown): void
  /** The last input has ended and everything was flushed. */
  ended(subtask: Subtask): void
  /** The subtask is aligned for the barrier. */
  snapshot(subtask: Subtask, barrier: Barrier, alignmentMs: number): void
  /** The subtask could not align. */
  declined(subtask: Subtask, checkpointId: number, reason: string): void
  /** Source progress that the subtask has applied. */
  progress(subtask: Subtask, partition: number, nextOffset: number, asOfMs: number): void
}

/** A source record's position, changed in place from record to record. */
export interface MutablePosition {
  partition: number
  offset: number
}

/**
 * One subtask of a chain: operators that call each other, fed by a head. It never blocks: it takes
 * input only while its channels have credit, its sinks are ready and no asynchronous call (opening,
 * preparing a snapshot) is under way.
 */
export class Subtask implements OperatorHost {
  readonly name: string
  readonly index: number
  readonly metrics: MetricGroup
  readonly host: SubtaskHost
  /** Head first, in topological order; a source stands among them as an operator without input. */
  readonly operators: OperatorTask[] = []
  private readonly gates: OperatorTask[] = []
  /** Channels to other chains. */
  readonly channels: OutputChannel[] = []
  readonly rebalances: RebalanceOutput[] = []
  readonly currentPosition: MutablePosition = { ...NO_POSITION }
  head!: SubtaskHead
  alignment: AlignmentState = newAlignment(0)
  /** Number for the slot's progress, -1 when it does not report. */
  progressReporter = -1
  /** The snapshot that is being written, if one is. */
  snapshot: SubtaskSnapshot | undefined
  blockedChannels = 0
  bytesOut = 0
  recordsEmitted = 0
  running = false
  ended = false
  /** Calls under way that input waits for. */
  private asyncCalls = 0
  /** Calls under way, of both kinds. */
  private pendingCalls = 0
  private gateClosed = false
  private lifecycle: Promise<void> = Promise.resolve()
  private readonly timers = new ProcessingTimers<OperatorTask>()
  private readonly meter: WorkMeter

  constructor(name: string, index: number, metrics: MetricGroup, host: SubtaskHost) {
    this.name = name
    this.index = index
    this.metrics = metrics
    this.host = host
    this.meter = new WorkMeter(metrics, () => host.clock.monotonicMs())
    metrics.gauge('numBytesOut', () => this.bytesOut)
    metrics.gauge(
      'numBytesOutPerSecond',
      rateGauge(
        () => host.clock.monotonicMs(),
        () => this.bytesOut,
      ),
    )
  }

  get attempt(): number {
    return this.host.attempt
  }

  get clock(): Clock {
    return this.host.clock
  }

  get rowTables(): RowTableDirectory {
    return this.host.rowTables
  }

  get source(): ChainSource | undefined {
    return this.head.seekable
  }

  /** Position of the record being processed. */
  position(): MutablePosition {
    return this.currentPosition
  }

  /** Whether input may be taken now. */
  canProcess(): boolean {
    if (!this.running || this.asyncCalls > 0 || this.blockedChannels > 0) return false
    return !this.gateClosed && this.gatesOpen() && this.storageKeepsUp()
  }

  /** Works until `untilMs`; false when there was nothing that could be done. */
  step(untilMs: number): boolean {
    if (!this.canProcess()) {
      this.meter.waits(this.clock.monotonicMs(), this.waitKind())
      return false
    }
    const startMs = this.clock.monotonicMs()
    let worked = false
    try {
      worked = this.head.step(untilMs)
      if (worked) for (const task of this.operators) task.pollWatermark()
    } catch (error) {
      this.fail(error)
    }
    if (worked) this.meter.worked(startMs, this.clock.monotonicMs(), this.waitKind())
    return worked
  }

  /** Fires due timers and lets the head do what is due. */
  tick(nowMs: number, outOfInput: boolean): void {
    if (!this.canProcess()) return
    try {
      this.fireTimers(nowMs)
      this.head.tick(nowMs, outOfInput)
      for (const task of this.operators) task.pollWatermark()
    } catch (error) {
      this.fail(error)
    }
  }

  /** When `tick` must be called at the latest, ms of the wall clock. */
  nextTickMs(nowMs: number): number | undefined {
    if (!this.canProcess()) return undefined
    const timer = this.timers.earliestMs
    const head = this.head.nextTickMs(nowMs)
    if (timer === undefined || head === undefined) return timer ?? head
    return Math.min(timer, head)
  }

  /** Sends what the channels have collected. */
  flush(): void {
    for (const channel of this.channels) channel.flush()
    for (const output of this.rebalances) output.turn()
  }

  /** Whether a sink of the chain may be full. */
  get hasGates(): boolean {
    return this.gates.length > 0
  }

  /** Adds an operator behind those it gets records from. */
  addOperator(task: OperatorTask): void {
    this.operators.push(task)
    if (task.gated) this.gates.push(task)
  }

  /** Source progress that every operator of the chain has applied. */
  reportProgress(partition: number, nextOffset: number, asOfMs: number): void {
    if (this.progressReporter >= 0) this.host.progress(this, partition, nextOffset, asOfMs)
    this.control((channel) => ({ kind: 'progress', channel, partition, nextOffset, asOfMs }))
  }

  /** Sends a control message on every channel. */
  control(make: (channel: number) => ControlMessage): void {
    for (const channel of this.channels) channel.control(make(channel.id))
  }

  /** The head has ended (and has told its own operator): so do the others, then the channels. */
  end(): void {
    if (this.ended) return
    this.ended = true
    this.clearPosition()
    this.operators[0]!.advanceWatermark(MAX_TIMESTAMP)
    for (const task of this.operators.slice(1)) task.call((operator) => operator.endInput(0))
    this.control((channel) => ({ kind: 'end', channel }))
    this.host.ended(this)
  }

  /** Marks that what is emitted from now on comes from no source record. */
  clearPosition(): void {
    this.currentPosition.partition = -1
    this.currentPosition.offset = 0
  }

  scheduleProcessingTime(task: OperatorTask, timestampMs: number): void {
    this.timers.add(timestampMs, task)
    this.host.wake()
  }

  sendEvent(uid: string, event: unknown): void {
    this.host.sendEvent(uid, this.index, event)
  }

  /** Runs an asynchronous call of the operators' life; input waits meanwhile. */
  async suspendWhile<T>(call: () => Promise<T>): Promise<T> {
    this.asyncCalls += 1
    try {
      return await this.inOrder(call)
    } finally {
      this.asyncCalls -= 1
      this.host.wake()
    }
  }

  /** Calls as soon as no asynchronous call is under way: at once, or input waits until then. */
  whenFree(call: () => void): void {
    if (this.pendingCalls === 0) call()
    else void this.suspendWhile(async () => call())
  }

  /** Runs asynchronous calls one after the other; input goes on. */
  inOrder<T>(call: () => Promise<T>): Promise<T> {
    this.pendingCalls += 1
    const result = this.lifecycle.then(call)
    const settle = (): void => {
      this.pendingCalls -= 1
    }
    this.lifecycle = result.then(settle, settle)
    return result
  }

  /** Reports what was thrown and takes no more input. */
  fail(error: unknown): void {
    if (!this.running) return
    this.running = false
    this.host.failed(this, error)
  }

  private fireTimers(nowMs: number): void {
    for (;;) {
      const due = this.timers.takeDue(nowMs)
      if (due === undefined) return
      this.clearPosition()
      due.owner.call((operator) => operator.onProcessingTime(due.timestampMs))
      if (this.blockedChannels > 0) return
    }
  }

  private waitKind(): 'idle' | 'backPressured' {
    return this.blockedChannels > 0 || this.gateClosed ? 'backPressured' : 'idle'
  }

  /** False, and wakes the slot later, while a sink of the chain is full. */
  gatesOpen(): boolean {
    for (const { operator } of this.gates) {
      if (operator.ready!()) continue
      this.waitAtGate(operator.whenReady!())
      return false
    }
    return true
  }

  /** False, and wakes the slot later, while spilled state waits to be written to checkpoint storage. */
  private storageKeepsUp(): boolean {
    for (const { cell } of this.operators) {
      if (cell === undefined || cell.ready()) continue
      this.waitAtGate(cell.whenReady())
      return false
    }
    return true
  }

  private waitAtGate(opened: Promise<void>): void {
    this.gateClosed = true
    const open = (): void => {
      this.gateClosed = false
      this.host.wake()
    }
    opened.then(open, (error) => {
      open()
      this.fail(error)
    })
  }
}
