import type { Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import { MetricGroup } from '../../core/metrics.ts'
import type { SourcePosition } from '../../core/position.ts'
import { graphFingerprint } from '../../dataflow/plan/graph-fingerprint.ts'
import type { StreamGraph } from '../../dataflow/stream-graph.ts'
import type { AccumulatorPart } from '../../operators/port/accumulator.ts'
import type { LongCallSteps, StoredRows } from '../../operators/port/operator.ts'
import { ProgressBoard } from '../../state/catalog/progress-board.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { VectorRow } from '../../state/port/handles.ts'
import type { SlotMemory } from '../../state/slot-memory.ts'
import type { ProgressReport } from '../channel/progress-combiner.ts'
import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import type { DroppedState } from '../checkpoint/protocol/dropped-state.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { failureReport, strayError } from '../protocol/failure-report.ts'
import { SlotActivity } from '../protocol/slot-activity.ts'
import type {
  SlotCommand,
  SlotDeployment,
  SlotFailure,
  SlotReport,
} from '../protocol/slot-messages.ts'
import { type JobPlan, planJob, recordAt } from '../subtask/job-plan.ts'
import { asyncCaller, culpritOf, operatorLabel } from '../subtask/operator-failure.ts'
import { SourceInput } from '../subtask/source-input.ts'
import type { Subtask, SubtaskHost } from '../subtask/subtask.ts'
import { type BuiltSlot, buildSlot } from './build.ts'
import { CheckpointedStates } from './checkpointed-states.ts'
import { SlotCheckpoints } from './checkpoints.ts'
import { SlotExchange } from './exchange.ts'
import { addHeapGauges } from './heap-gauges.ts'
import { keyGroupRecords } from './key-group-records.ts'
import { SlotLoop } from './loop.ts'
import { PeerRows } from './peer-rows.ts'
import { resetProgress, SlotProgress } from './progress.ts'
import type { QueriedOperator, SlotQueries } from './queries.ts'
import { restoreSlot } from './restore.ts'
import { SlotRowTables } from './row-tables.ts'
import { SubtaskScheduler } from './scheduler.ts'
import { SlotTurn } from './turn.ts'

/** Options of a slot's part of an attempt. */
export interface SlotRuntimeOptions {
  readonly deployment: SlotDeployment
  readonly graph: StreamGraph
  readonly clock: Clock
  readonly storage: CheckpointStorage | undefined
  /** Folder for spilled state. */
  readonly stateDirectory: string
  /** See `SlotAgentOptions`. */
  readonly sharedMemory?: SlotMemory | undefined
  readonly queries: SlotQueries
  readonly report: (report: SlotReport) => void
}

/** What failed, where no operator is recorded with the error. */
type FailedAt = Pick<SlotFailure, 'record' | 'stray'> & Partial<Pick<SlotFailure, 'operator'>>

/**
 * One slot's part of an attempt: builds, restores, runs and closes its subtasks; see DESIGN section 2. It answers
 * each command of the engine and each call of a subtask: that is why it has more than 300 lines.
 */
export class SlotRuntime implements SubtaskHost {
  readonly attempt: number
  readonly clock: Clock
  readonly rowTables: StateCatalog
  readonly accumulatorTypes = new Map<string, string>()
  private readonly options: SlotRuntimeOptions
  private readonly deployment: SlotDeployment
  private readonly plan: JobPlan
  private readonly tables: SlotRowTables
  private readonly metrics = new MetricGroup()
  private readonly exchange: SlotExchange
  private readonly peerRows: PeerRows
  private readonly turn: SlotTurn
  private readonly loop: SlotLoop
  private readonly board: ProgressBoard
  private progressOfSlot: SlotProgress | undefined
  /** Downstream first; empty until the slot is built. */
  private readonly subtasks: Subtask[] = []
  private readonly scheduler: SubtaskScheduler
  private readonly states: CheckpointedStates
  private checkpoints: SlotCheckpoints | undefined
  private failedAlready = false
  private closed = false
  private endedSubtasks = 0

  constructor(options: SlotRuntimeOptions) {
    const { deployment, clock } = options
    this.options = options
    this.deployment = deployment
    this.attempt = deployment.attempt
    this.clock = clock
    this.plan = planJob(options.graph)
    this.board = new ProgressBoard(deployment.board)
    const { storage, stateDirectory, sharedMemory } = options
    this.tables = new SlotRowTables(deployment.slot, this.board, (report) => this.report(report))
    this.rowTables = this.tables.directory
    this.states = new CheckpointedStates({
      deployment,
      plan: this.plan,
      clock,
      storage,
      stateDirectory,
      memory: sharedMemory,
      report: (report) => this.tables.onOwn(report),
      warn: (warning) => this.warn(warning),
    })
    const { bufferTimeoutMs } = deployment.configuration.network
    this.scheduler = new SubtaskScheduler(this.subtasks, clock, bufferTimeoutMs)
    this.exchange = new SlotExchange(
      deployment,
      () => this.wake(),
      (from, message) => this.peerRows.receive(from, message),
    )
    this.peerRows = new PeerRows({
      clock,
      queries: options.queries,
      send: (to, message) => this.exchange.sendRows(to, message),
    })
    const ownMetrics = this.metrics.group(`slot.${deployment.slot}`)
    if (sharedMemory === undefined) addHeapGauges(ownMetrics)
    this.turn = new SlotTurn({
      clock,
      queries: options.queries,
      scheduler: this.scheduler,
      exchange: this.exchange,
      copy: (budgetMs) => this.checkpoints?.copy(budgetMs) === true,
      endCalls: () => this.states.deselectKeys(),
      latency: ownMetrics.histogram('mailboxLatencyMs'),
    })
    this.loop = new SlotLoop(clock, () => this.turn.run())
  }

  /** The keyed state of this slot's operators, for queries; undefined once it is closed. */
  backends(): readonly QueriedOperator[] | undefined {
    return this.states.backends()
  }

  /** Builds and opens every subtask and restores its state, then reports `restored`. */
  async deploy(): Promise<void> {
    const { slot, restoredCheckpoint } = this.deployment
    this.board.setSlotStatus(slot, restoredCheckpoint > 0 ? 'restoring' : 'starting')
    this.board.beginSlotIncarnation(slot, this.attempt)
    resetProgress(this.board, slot, this.deployment.restoredSplits)
    let dropped: readonly DroppedState[]
    try {
      const { built } = await this.build()
      this.exchange.open()
      dropped = await restoreSlot(built, this, {
        storage: this.options.storage,
        restore: this.deployment.restore,
        checkpointId: restoredCheckpoint,
        stateOf: (uid) => this.states.of(uid),
        allowNonRestoredState: this.deployment.configuration.checkpoints.allowNonRestoredState,
        mayHaveChanged: this.deployment.mayHaveChanged,
        isOver: () => this.closed,
      })
    } catch (error) {
      this.reportFailure(`slot ${slot}`, error)
      return
    }
    if (this.closed) return
    const fingerprint = graphFingerprint(this.options.graph)
    this.report({ kind: 'restored', attempt: this.attempt, fingerprint, dropped })
  }

  /** Executes a command; the agent handles `deploy`, `ping` and `attach-query`. */
  handle(command: SlotCommand): void {
    switch (command.kind) {
      case 'start':
        void this.guard(this.start())
        return
      case 'trigger-checkpoint':
        this.checkpoints?.trigger(command.barrier, command.stopAfter)
        return
      case 'checkpoint-completed':
        void this.guard(this.checkpoints?.completed(command.checkpointId))
        return
      case 'checkpoint-aborted':
        this.checkpoints?.aborted(command.checkpointId)
        return
      case 'resume':
        this.checkpoints?.resume()
        this.wake()
        return
      case 'drain':
        for (const { input } of this.subtasks) if (input instanceof SourceInput) input.drain()
        this.wake()
        return
      case 'commit':
        void this.guard(this.checkpoints?.commitDirectly(command.checkpointId))
        return
      case 'operator-event':
        for (const subtask of this.subtasks) {
          if ((command.subtask ?? subtask.index) !== subtask.index) continue
          subtask.deliverEvent(command.uid, command.event)
        }
        this.wake()
        return
      case 'metrics': {
        const { request, keyGroupsOf: uid } = command
        const { subtasks } = this
        const metrics = uid === undefined ? this.metrics.snapshot() : keyGroupRecords(subtasks, uid)
        const accumulators = uid === undefined ? this.accumulators() : undefined
        this.report({ kind: 'metrics', attempt: this.attempt, request, metrics, accumulators })
        return
      }
      case 'peer-table-opened':
      case 'peer-table-dropped':
        this.tables.onPeer(command)
        return
      case 'close':
        void this.close()
        return
      default:
    }
  }

  wake(): void {
    this.turn.wakeAsked()
    this.loop.wake()
  }

  sendEvent(uid: string, subtask: number, event: unknown): void {
    this.report({ kind: 'operator-event', attempt: this.attempt, uid, subtask, event })
  }

  storedRows(asked: StoredRows): Promise<readonly (VectorRow | undefined)[]> {
    return this.peerRows.read(asked)
  }

  beginLongCall(node: number, total: number): LongCallSteps {
    return new SlotActivity(this.deployment.activity).begin(this.deployment, node, total)
  }

  get namesCallers(): boolean {
    return this.deployment.namesCallers
  }

  get mostTimersAtEnd(): number {
    return this.deployment.configuration.mostTimersAtEnd
  }

  topicOf(source: number): string | undefined {
    return this.plan.sources[source]?.topic
  }

  get acceptsLostTransactions(): boolean {
    return this.deployment.configuration.acceptLostTransactions
  }

  warn({ code, message, details }: WeirError): void {
    this.report({ kind: 'warning', attempt: this.attempt, code, message, details })
  }

  failed(subtask: Subtask, error: unknown, at?: SourcePosition): void {
    const [first] = subtask.operators
    const operator = first && operatorLabel(first.node)
    // A source that fails has not read the record of the position, but the one before.
    const isOfSource =
      subtask.input instanceof SourceInput && (culpritOf(error)?.operator ?? operator) === operator
    const record = at === undefined || isOfSource ? undefined : recordAt(this.plan, at)
    this.reportFailure(subtask.name, error, { operator, record })
  }

  /** An error that no call handled ends the attempt; false where it is closed, or another subtask has begun the code. */
  failStray(error: unknown, of?: object): boolean {
    if (this.closed || (of && !this.subtasks.some((subtask) => subtask === of))) return false
    const { task = `slot ${this.deployment.slot}`, operator } = asyncCaller()
    this.reportFailure(task, strayError(error), { operator, stray: true })
    return true
  }

  ended(): void {
    this.endedSubtasks += 1
    this.reportIfEnded()
  }

  snapshot(subtask: Subtask, barrier: Barrier, alignmentMs: number): void {
    this.checkpoints?.begin(subtask, barrier, alignmentMs)
  }

  declined(subtask: Subtask, checkpointId: number, reason: string): void {
    this.checkpoints?.decline(subtask, checkpointId, reason)
  }

  partitionRead(source: number, partition: number, nextOffset: number): void {
    const { board } = this
    board.addPartition(partition, source)
    // No keyed state says how far such a source is applied.
    if (board.share.sources[source]?.tracked !== false) return
    board.setWithoutAsOf(this.deployment.slot, partition, nextOffset, source)
  }

  progress(subtask: Subtask, report: ProgressReport): void {
    this.progressOfSlot?.report(subtask.progressReporter, report)
    if (subtask.gates.hasSinks) {
      this.progressOfSlot?.written(subtask, report, this.clock.monotonicMs())
    }
  }

  /** Ends without closing operators, as a killed thread would. */
  abandon(): void {
    if (this.closed) return
    this.closed = true
    this.loop.close()
    for (const subtask of this.subtasks) subtask.stop()
    this.states.abandon()
    this.exchange.close()
  }

  /** Closes operators, state and ports, then reports `closed`. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    this.loop.close()
    for (const subtask of this.subtasks) subtask.stop()
    const failure = await this.closeOperators()
    await this.states.close()
    this.exchange.close()
    const accumulators = this.accumulators()
    this.options.report({ kind: 'closed', attempt: this.attempt, accumulators, failure })
  }

  /** Closes every operator; returns the first failure. */
  private async closeOperators(): Promise<SlotFailure | undefined> {
    let first: SlotFailure | undefined
    for (const { name, operators } of this.subtasks) {
      for (const task of operators) {
        await task.close().catch((error: unknown) => {
          first ??= this.failureIn(name, error)
        })
      }
    }
    return first
  }

  /** What the accumulators of the slot's subtasks hold. */
  private accumulators(): readonly AccumulatorPart[] {
    return this.subtasks.flatMap(({ accumulators, operators, index: subtask }) =>
      accumulators.parts({ uid: operators[0]!.node.uid, subtask }),
    )
  }

  private report(report: SlotReport): void {
    if (!this.closed) this.options.report(report)
  }

  private async build(): Promise<BuiltSlot> {
    const { deployment, metrics, states, exchange, subtasks } = this
    const slot = await buildSlot(this.plan, { deployment, metrics, host: this, states, exchange })
    subtasks.push(...slot.built.map(({ subtask }) => subtask).reverse())
    this.progressOfSlot = new SlotProgress(this.board, deployment.slot, slot.reporters)
    this.checkpoints = new SlotCheckpoints({
      deployment,
      subtasks,
      states,
      report: (report) => this.report(report),
    })
    return slot
  }

  private async start(): Promise<void> {
    for (const subtask of this.subtasks) subtask.running = true
    for (const subtask of this.subtasks) await subtask.start()
    this.board.setSlotStatus(this.deployment.slot, 'running')
    this.report({ kind: 'running', attempt: this.attempt })
    this.reportIfEnded()
    this.wake()
  }

  private reportIfEnded(): void {
    if (this.endedSubtasks === this.subtasks.length) {
      this.report({ kind: 'ended', attempt: this.attempt })
    }
  }

  private async guard(work: Promise<void> | undefined): Promise<void> {
    try {
      await work
    } catch (error) {
      this.reportFailure(`slot ${this.deployment.slot}`, error)
    }
  }

  private reportFailure(task: string, error: unknown, at: FailedAt = {}): void {
    if (this.failedAlready || this.closed) return
    this.failedAlready = true
    for (const subtask of this.subtasks) subtask.stop()
    this.options.report(this.failureIn(task, error, at))
  }

  private failureIn(task: string, error: unknown, at: FailedAt = {}): SlotFailure {
    const { attempt } = this
    return failureReport(error, { attempt, task, operator: undefined, ...at, ...culpritOf(error) })
  }
}
