import type { Cancel, Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import { type MutablePosition, NO_POSITION, type SourcePosition } from '../../core/position.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { ChainSource, LongCallSteps, StoredRows } from '../../operators/port/operator.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { VectorRow } from '../../state/port/handles.ts'
import type { ControlMessage } from '../channel/message.ts'
import type { OutputChannel } from '../channel/output.ts'
import type { ProgressReport } from '../channel/progress-combiner.ts'
import { type AlignmentState, newAlignment } from '../checkpoint/protocol/barrier-alignment.ts'
import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import { CallSequence } from '../pacing/call-sequence.ts'
import { LaterCalls } from '../pacing/later-calls.ts'
import { ProcessingTimers } from '../pacing/processing-timers.ts'
import { TimerPasses } from '../pacing/timer-passes.ts'
import { rateGauge, WorkMeter } from '../pacing/work-meter.ts'
import { DeferredResults } from './deferred-results.ts'
import { Gates } from './gates.ts'
import type { SubtaskInput } from './input.ts'
import { asyncOrigin } from './operator-failure.ts'
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
  /** See `OperatorContext`, for this and the next three. */
  storedRows(asked: StoredRows): Promise<readonly (VectorRow | undefined)[]>
  readonly acceptsLostTransactions: boolean
  topicOf(source: number): string | undefined
  readonly mostTimersAtEnd: number
  /** See `SlotDeployment`. */
  readonly namesCallers: boolean
  beginLongCall(node: number, total: number): LongCallSteps
  warn(warning: WeirError): void
  /** An operator threw: the attempt is over. `at`: the position of the record that it worked on. */
  failed(subtask: Subtask, error: unknown, at?: SourcePosition): void
  /** The last input has ended and everything was flushed. */
  ended(subtask: Subtask): void
  /** The subtask is aligned for the barrier. */
  snapshot(subtask: Subtask, barrier: Barrier, alignmentMs: number): void
  /** The subtask could not align. */
  declined(subtask: Subtask, checkpointId: number, reason: string): void
  /** A partition that the subtask reads, at first and whenever it has gone on: the offset of the next record. */
  partitionRead(source: number, partition: number, nextOffset: number): void
  /** Source progress that the subtask has applied. */
  progress(subtask: Subtask, report: ProgressReport): void
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
 * call (opening, preparing a snapshot) runs. The interface of the slot is here, as each of the two names the other.
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
  readonly passes: TimerPasses
  readonly calls: CallSequence
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
  private readonly laterCalls: LaterCalls
  private readonly timers = new ProcessingTimers<OperatorTask>()
  private readonly meter: WorkMeter

  constructor({ name, index, metrics, host }: SubtaskOptions) {
    this.name = name
    this.index = index
    this.metrics = metrics
    this.host = host
    this.calls = new CallSequence(() => host.wake())
    this.laterCalls = new LaterCalls(host.clock)
    this.accumulators = new TaskAccumulators(host.accumulatorTypes)
    const nowMs = (): number => host.clock.monotonicMs()
    this.gates = new Gates({ wake: () => host.wake(), fail: (error) => this.fail(error) })
    this.passes = new TimerPasses({
      clock: host.clock,
      mayFire: () => !this.deferred.isFull && this.canEmit(),
      wake: () => host.wake(),
    })
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
    return this.passes.isEmpty && !this.deferred.isFull && this.canEmit()
  }

  /** Whether operators may emit now. */
  private canEmit(): boolean {
    if (!this.running || this.calls.suspendsInput || this.blockedChannels > 0) return false
    return this.gates.open()
  }

  /** Whether there may be a reason to stop between two records. */
  get hasLimits(): boolean {
    return (
      this.gates.hasSinks ||
      this.calls.suspendsInput ||
      !this.deferred.isEmpty ||
      !this.passes.isEmpty
    )
  }

  /** Works until `untilMs`; false when nothing could be done. */
  step(untilMs: number): boolean {
    const fired = this.firePasses(untilMs)
    const emitted = this.emitDeferred(untilMs)
    return this.stepInput(untilMs) || emitted || fired
  }

  /** Goes on with timers that are due; false when there were none. */
  private firePasses(untilMs: number): boolean {
    if (this.passes.isEmpty) return false
    this.clearPosition()
    return this.measured(() => {
      const fired = this.passes.step(untilMs)
      // Barriers do not wait for a long pass: timers that are still due are part of the checkpoint.
      if (this.passes.isEmpty || this.passes.isInRecord || !this.canEmit()) return fired
      return this.input.takeBarrier?.() === true || fired
    })
  }

  private stepInput(untilMs: number): boolean {
    if (!this.passes.isEmpty) return false
    const takesInput = (): boolean => {
      if (!this.input.step(untilMs)) return false
      for (const task of this.operators) task.pollWatermark()
      return true
    }
    const worked = this.canProcess() && this.measured(takesInput)
    // It may not process, or what it waited for is there, but there is no input.
    if (!worked) this.meter.waits(this.clock.monotonicMs(), this.waitKind())
    return worked
  }

  /** Emits results that became ready after their records; false when there were none. */
  private emitDeferred(untilMs: number): boolean {
    if (this.deferred.isEmpty || !this.canEmit()) return false
    const { source } = this.currentPosition
    this.clearPosition()
    const emitted = this.measured(() =>
      this.deferred.emit(
        () => this.canEmit(),
        () => this.clock.monotonicMs() < untilMs,
      ),
    )
    this.clearPosition()
    this.currentPosition.source = source
    return emitted
  }

  /** Measures work of operators; false when there was none, or it failed. */
  private measured(work: () => boolean): boolean {
    const startMs = this.clock.monotonicMs()
    let worked = false
    try {
      worked = asyncOrigin.run(this, work)
    } catch (error) {
      this.fail(error, this.currentPosition)
    }
    if (worked) this.meter.worked(startMs, this.clock.monotonicMs(), this.waitKind())
    return worked
  }

  /** Fires due timers and lets the input do what is due. */
  tick(nowMs: number, outOfInput: boolean): void {
    if (!this.canProcess()) return
    try {
      if (!this.ended) this.fireTimers(nowMs)
      this.input.tick(nowMs, outOfInput)
      for (const task of this.operators) task.pollWatermark()
    } catch (error) {
      this.fail(error)
    }
  }

  /** When `tick` must be called at the latest, ms of the wall clock. */
  nextTickMs(nowMs: number): number | undefined {
    if (!this.canProcess()) return undefined
    const timer = this.ended ? undefined : this.timers.dueMs
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
    task.isFirst = this.operators.length === 0
    this.operators.push(task)
    task.passes = this.passes
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
    const endNext = (): void => {
      const next = this.operators[at + 1]
      if (next === undefined) {
        this.control((channel) => ({ kind: 'end', channel }))
        this.host.ended(this)
        return
      }
      next.call((operator) => operator.endInput(0))
      this.endAfter(at + 1)
    }
    this.passes.whenDone(() => this.operators[at]!.afterInFlight(endNext, false))
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

  /** Calls once after a time, unless the subtask stops before or the call is canceled. */
  later(delayMs: number, call: () => void): Cancel {
    return this.laterCalls.after(delayMs, () => {
      if (this.running) call()
    })
  }

  /** Begins to work, when the state is restored. */
  start(): Promise<void> {
    for (const task of this.operators) task.resumeTimers()
    return this.input.start()
  }

  /** Takes no more input. */
  stop(): void {
    this.running = false
    this.laterCalls.cancelAll()
  }

  /** Reports the error and takes no more input. `at`: where the record comes from that failed. */
  fail(error: unknown, at?: SourcePosition): void {
    if (!this.running) return
    this.stop()
    this.host.failed(this, error, at)
  }

  private fireTimers(nowMs: number): void {
    for (;;) {
      const due = this.timers.takeDue(nowMs)
      if (due === undefined) return
      this.clearPosition()
      asyncOrigin.run(this, () => due.owner.advanceProcessingTime(due.timestampMs))
      if (this.blockedChannels > 0 || !this.passes.isEmpty) return
    }
  }

  private waitKind(): 'idle' | 'backPressured' {
    return this.blockedChannels > 0 || this.gates.closed || this.deferred.isFull
      ? 'backPressured'
      : 'idle'
  }
}
