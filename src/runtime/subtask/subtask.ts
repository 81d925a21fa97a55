import { type AlignmentState, newAlignment } from '../../checkpoint/protocol/barrier-alignment.ts'
import type { Barrier } from '../../checkpoint/protocol/checkpoint-types.ts'
import type { Cancel, Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import { NO_POSITION, type SourcePosition } from '../../core/position.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { ChainSource, StoredRows } from '../../operators/port/operator.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { VectorRow } from '../../state/port/handles.ts'
import type { ControlMessage } from '../channel/message.ts'
import type { OutputChannel } from '../channel/output.ts'
import type { ProgressReport } from '../channel/progress-combiner.ts'
import { CallSequence } from '../pacing/call-sequence.ts'
import { ProcessingTimers } from '../pacing/processing-timers.ts'
import { rateGauge, WorkMeter } from '../pacing/work-meter.ts'
import { DeferredResults } from './deferred-results.ts'
import { Gates } from './gates.ts'
import type { SubtaskInput } from './input.ts'
import type { OperatorHost, OperatorTask } from './operator-task.ts'
import type { RebalanceOutput } from './record-output.ts'
import { TaskAccumulators } from './task-accumulators.ts'

/** The slot that runs a subtask, as the subtask sees it. */
export interface SubtaskHost {
  readonly attempt: number
  readonly clock: Clock
  /** Row tables of all slots. */
  readonly rowTables: StateCatalog
  /** Types of the accumulators of all subtasks by name. */
  readonly accumulatorTypes: Map<string, string>
  /** Wakes the slot's loop, because there is work to do. */
  wake(): void
  sendEvent(uid: string, subtask: number, event: unknown): void
  /** See `OperatorContext`. */
  storedRows(asked: StoredRows): Promise<readonly (VectorRow | undefined)[]>
  /** See `OperatorContext`. */
  readonly acceptsLostTransactions: boolean
  warn(warning: WeirError): void
  /** An operator threw: the attempt is over. */
  failed(subtask: Subtask, error: unknown): void
  /** The last input has ended and everything was flushed. */
  ended(subtask: Subtask): void
  /** The subtask is aligned for the barrier. */
  snapshot(subtask: Subtask, barrier: Barrier, alignmentMs: number): void
  /** The subtask could not align. */
  declined(subtask: Subtask, checkpointId: number, reason: string): void
  /** A partition that the subtask is going to read. */
  partitionFound(source: number, partition: number): void
  /** Source progress that the subtask has applied. */
  progress(subtask: Subtask, report: ProgressReport): void
}

/** Position of a source record, changed in place from record to record. */
export interface MutablePosition {
  partition: number
  offset: number
  source: number
}

/** Options of a subtask. */
export interface SubtaskOptions {
  readonly name: string
  /** Number of the subtask. */
  readonly index: number
  readonly metrics: MetricGroup
  readonly host: SubtaskHost
}

/**
 * One subtask of a chain: operators that call each other and get their records from an input. It never
 * blocks: it takes input only while its channels have credit, its sinks are ready and no asynchronous
 * call (opening, preparing a snapshot) runs. The file has more than 300 lines because the interface of the slot
 * is here, too: each of the two names the other.
 */
export class Subtask implements OperatorHost {
  readonly name: string
  readonly index: number
  readonly metrics: MetricGroup
  readonly host: SubtaskHost
  readonly accumulators: TaskAccumulators
  /** In topological order; a source is the first of them, as an operator without input. */
  readonly operators: OperatorTask[] = []
  readonly gates: Gates
  readonly deferred = new DeferredResults()
  /** Channels to other chains. */
  readonly channels: OutputChannel[] = []
  readonly rebalances: RebalanceOutput[] = []
  readonly currentPosition: MutablePosition = { ...NO_POSITION, source: 0 }
  input!: SubtaskInput
  alignment: AlignmentState = newAlignment(0)
  /** Number for the slot's progress, -1 when it does not report. */
  progressReporter = -1
  blockedChannels = 0
  bytesOut = 0
  recordsEmitted = 0
  running = false
  ended = false
  /** Asynchronous calls that run and that input waits for. */
  private suspending = 0
  private readonly calls = new CallSequence()
  private readonly laterCalls = new Set<Cancel>()
  private readonly timers = new ProcessingTimers<OperatorTask>()
  private readonly meter: WorkMeter

  constructor({ name, index, metrics, host }: SubtaskOptions) {
    this.name = name
    this.index = index
    this.metrics = metrics
    this.host = host
    this.accumulators = new TaskAccumulators(host.accumulatorTypes)
    const nowMs = (): number => host.clock.monotonicMs()
    this.gates = new Gates({ wake: () => host.wake(), fail: (error) => this.fail(error) })
    this.meter = new WorkMeter(metrics, nowMs)
    metrics.gauge('numBytesOut', () => this.bytesOut)
    metrics.gauge(
      'numBytesOutPerSecond',
      rateGauge(nowMs, () => this.bytesOut),
    )
  }

  get attempt(): number {
    return this.host.attempt
  }

  get clock(): Clock {
    return this.host.clock
  }

  get rowTables(): StateCatalog {
    return this.host.rowTables
  }

  get source(): ChainSource | undefined {
    return this.input.seekable
  }

  /** Position of the record being processed. */
  position(): MutablePosition {
    return this.currentPosition
  }

  /** Whether input may be taken now. */
  canProcess(): boolean {
    return !this.deferred.isFull && this.canEmit()
  }

  /** Whether operators may emit now. */
  private canEmit(): boolean {
    if (!this.running || this.suspending > 0 || this.blockedChannels > 0) return false
    return this.gates.open()
  }

  /** Whether there may be a reason to stop between two records. */
  get hasLimits(): boolean {
    return this.gates.hasSinks || this.suspending > 0 || !this.deferred.isEmpty
  }

  /** Works until `untilMs`; false when nothing could be done. */
  step(untilMs: number): boolean {
    const emitted = this.emitDeferred(untilMs)
    return this.stepInput(untilMs) || emitted
  }

  private stepInput(untilMs: number): boolean {
    if (!this.canProcess()) {
      this.meter.waits(this.clock.monotonicMs(), this.waitKind())
      return false
    }
    const startMs = this.clock.monotonicMs()
    let worked = false
    try {
      worked = this.input.step(untilMs)
      if (worked) for (const task of this.operators) task.pollWatermark()
    } catch (error) {
      this.fail(error)
    }
    if (worked) this.meter.worked(startMs, this.clock.monotonicMs(), this.waitKind())
    // What it waited for is there, but there is no input.
    else this.meter.waits(startMs, this.waitKind())
    return worked
  }

  /** Emits results that became ready after their records; false when there were none. */
  private emitDeferred(untilMs: number): boolean {
    if (this.deferred.isEmpty || !this.canEmit()) return false
    const startMs = this.clock.monotonicMs()
    const { source } = this.currentPosition
    let emitted = false
    try {
      emitted = this.deferred.emit(
        () => this.canEmit(),
        () => this.clock.monotonicMs() < untilMs,
      )
    } catch (error) {
      this.fail(error)
    }
    this.clearPosition()
    this.currentPosition.source = source
    if (emitted) this.meter.worked(startMs, this.clock.monotonicMs(), this.waitKind())
    return emitted
  }

  /** Fires due timers and lets the input do what is due. */
  tick(nowMs: number, outOfInput: boolean): void {
    if (!this.canProcess()) return
    try {
      this.fireTimers(nowMs)
      this.input.tick(nowMs, outOfInput)
      for (const task of this.operators) task.pollWatermark()
    } catch (error) {
      this.fail(error)
    }
  }

  /** When `tick` must be called at the latest, ms of the wall clock. */
  nextTickMs(nowMs: number): number | undefined {
    if (!this.canProcess()) return undefined
    const timer = this.timers.dueMs
    const input = this.input.nextTickMs(nowMs)
    if (timer === undefined || input === undefined) return timer ?? input
    return Math.min(timer, input)
  }

  /** Sends the records that the channels have collected. */
  flush(): void {
    for (const channel of this.channels) channel.flush()
    for (const output of this.rebalances) output.turn()
  }

  /** Resolves when readers can see all that the chain's sinks were given. */
  async written(): Promise<void> {
    await Promise.all(this.operators.map(({ operator }) => operator.written?.()))
  }

  /** Adds an operator after the operators from which it gets records. */
  addOperator(task: OperatorTask): void {
    this.operators.push(task)
    this.gates.add(task)
    this.deferred.add(task)
  }

  /** Source progress that every operator of the chain has applied. */
  reportProgress(report: ProgressReport): void {
    this.deferred.afterAll(() => {
      if (this.progressReporter >= 0) this.host.progress(this, report)
      this.control((channel) => ({ kind: 'progress', channel, report }))
    })
  }

  /** Sends a control message on every channel. */
  control(make: (channel: number) => ControlMessage): void {
    for (const channel of this.channels) channel.control(make(channel.id))
  }

  /** The input and the first operator have ended: ends the other operators, then the channels. */
  end(): void {
    if (this.ended) return
    this.ended = true
    this.clearPosition()
    this.operators[0]!.advanceWatermark(MAX_TIMESTAMP)
    this.endAfter(0)
  }

  /** Ends the operators behind this one, each when the one before has emitted everything, then the channels. */
  private endAfter(at: number): void {
    this.operators[at]!.afterInFlight(() => {
      const next = this.operators[at + 1]
      if (next === undefined) {
        this.control((channel) => ({ kind: 'end', channel }))
        this.host.ended(this)
        return
      }
      next.call((operator) => operator.endInput(0))
      this.endAfter(at + 1)
    }, false)
  }

  /** Passes an event to the operator with this uid, if it is one of the chain. */
  deliverEvent(uid: string, event: unknown): void {
    for (const task of this.operators) {
      if (task.node.uid !== uid) continue
      try {
        this.clearPosition()
        task.call((operator) => operator.handleEvent(event))
      } catch (error) {
        this.fail(error)
      }
    }
  }

  /** Marks that records emitted from now on come from no source record. */
  clearPosition(): void {
    this.currentPosition.partition = -1
    this.currentPosition.offset = 0
  }

  scheduleProcessingTime(task: OperatorTask, timestampMs: number): void {
    this.timers.add(timestampMs, task)
    this.host.wake()
  }

  wake(): void {
    this.host.wake()
  }

  /** What operators emit from now on comes from the record at this position. */
  resumeAt({ partition, offset, source = 0 }: SourcePosition): void {
    this.currentPosition.partition = partition
    this.currentPosition.offset = offset
    this.currentPosition.source = source
  }

  storedRows(asked: StoredRows): Promise<readonly (VectorRow | undefined)[]> {
    return this.host.storedRows(asked)
  }

  sendEvent(uid: string, event: unknown): void {
    this.host.sendEvent(uid, this.index, event)
  }

  get acceptsLostTransactions(): boolean {
    return this.host.acceptsLostTransactions
  }

  warn(warning: WeirError): void {
    this.host.warn(warning)
  }

  /** Runs an asynchronous call of operators after all earlier ones; input waits until it has settled. */
  async suspendWhile<T>(call: () => Promise<T>): Promise<T> {
    this.suspending += 1
    try {
      return await this.inOrder(call)
    } finally {
      this.suspending -= 1
      this.host.wake()
    }
  }

  /**
   * Calls at once if no asynchronous call runs, otherwise after the last one, for which input then
   * waits.
   */
  whenFree(call: () => void): void {
    if (this.calls.idle) call()
    else void this.suspendWhile(async () => call())
  }

  /** Runs an asynchronous call after all earlier ones; input continues. */
  inOrder<T>(call: () => Promise<T>): Promise<T> {
    return this.calls.run(call)
  }

  /** Calls once after a time, unless the subtask stops before or the call is canceled. */
  later(delayMs: number, call: () => void): Cancel {
    const cancelTimer = this.clock.after(delayMs, () => {
      this.laterCalls.delete(cancel)
      if (this.running) call()
    })
    const cancel = (): void => {
      this.laterCalls.delete(cancel)
      cancelTimer()
    }
    this.laterCalls.add(cancel)
    return cancel
  }

  /** Takes no more input. */
  stop(): void {
    this.running = false
    for (const cancel of [...this.laterCalls]) cancel()
  }

  /** Reports the error and takes no more input. */
  fail(error: unknown): void {
    if (!this.running) return
    this.stop()
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
    return this.blockedChannels > 0 || this.gates.closed || this.deferred.isFull
      ? 'backPressured'
      : 'idle'
  }
}
