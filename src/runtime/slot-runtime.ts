import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import type { Clock } from '../core/clock.ts'
import { isWeirError, messageOf } from '../core/errors.ts'
import { MetricGroup } from '../core/metrics.ts'
import { graphFingerprint } from '../dataflow/graph-fingerprint.ts'
import type { StreamGraph } from '../dataflow/stream-graph.ts'
import { ProgressBoard } from '../state/progress-board.ts'
import { RowTableDirectory } from '../state/row-table-directory.ts'
import { ChannelHead } from './channel-head.ts'
import { type JobPlan, planJob } from './job-plan.ts'
import { noteRowTable } from './note-row-table.ts'
import { culpritOf, operatorLabel } from './operator-failure.ts'
import { OperatorStateMemory } from './operator-state-memory.ts'
import { restoreSlot } from './restore-slot.ts'
import { SlotCheckpoints } from './slot-checkpoints.ts'
import { SlotExchange } from './slot-exchange.ts'
import { SlotKeyedCells } from './slot-keyed-cells.ts'
import { type LoopTurn, SlotLoop } from './slot-loop.ts'
import { SlotProgress } from './slot-progress.ts'
import type { SlotCommand, SlotDeployment, SlotReport } from './slot-protocol.ts'
import type { QueriedBackend, SlotQueries } from './slot-queries.ts'
import { afterTurn } from './slot-turn.ts'
import { SourceHead } from './source-head.ts'
import type { Subtask, SubtaskHost } from './subtask.ts'
import { type BuiltSubtask, buildSubtask, type SubtaskSite } from './subtask-builder.ts'

/** Length of a slice, after which the event loop turns. */
const SLICE_MS = 1
/** Length of one subtask's part of a slice. */
const SHARE_MS = 0.25
/** Time spent per slice on copying state out. */
const SNAPSHOT_MS = 1

/** What a slot runs an attempt with. */
export interface SlotRuntimeOptions {
  readonly deployment: SlotDeployment
  readonly graph: StreamGraph
  readonly clock: Clock
  readonly storage: CheckpointStorage | undefined
  /** Folder for spilled state. */
  readonly stateDirectory: string
  readonly queries: SlotQueries
  readonly report: (report: SlotReport) => void
}

/** Runs the subtasks of one slot for one attempt of a job; see DESIGN section 2. */
export class SlotRuntime implements SubtaskHost {
  readonly attempt: number
  readonly clock: Clock
  readonly rowTables = new RowTableDirectory()
  private readonly options: SlotRuntimeOptions
  private readonly deployment: SlotDeployment
  private readonly plan: JobPlan
  private readonly metrics = new MetricGroup()
  private readonly exchange: SlotExchange
  private readonly loop: SlotLoop
  private readonly board: ProgressBoard
  private progressOfSlot: SlotProgress | undefined
  private built: BuiltSubtask[] = []
  private subtasks: Subtask[] = []
  private readonly cells: SlotKeyedCells
  private checkpoints: SlotCheckpoints | undefined
  private firstSubtask = 0
  private lastFlushMs = 0
  private failedAlready = false
  private closed = false
  private endedSubtasks = 0
  private wakeAskedMs: number | undefined
  private readonly observeLatency: (ms: number) => void

  constructor(options: SlotRuntimeOptions) {
    const { deployment, clock } = options
    this.options = options
    this.deployment = deployment
    this.attempt = deployment.attempt
    this.clock = clock
    this.plan = planJob(options.graph)
    this.board = new ProgressBoard(deployment.board)
    const { storage, stateDirectory } = options
    const report = (message: SlotReport): void => {
      noteRowTable(this.rowTables, message, deployment.slot)
      this.report(message)
    }
    this.cells = new SlotKeyedCells({
      deployment,
      plan: this.plan,
      clock,
      storage,
      stateDirectory,
      report,
    })
    this.loop = new SlotLoop(clock, () => this.turn())
    this.exchange = new SlotExchange(deployment, () => this.wake())
    const latency = this.metrics.group(`slot.${deployment.slot}`).histogram('mailboxLatencyMs')
    this.observeLatency = (ms) => latency.observe(ms)
  }

  /** The keyed state of this slot's operators, for queries; undefined once it is closed. */
  backends(): readonly QueriedBackend[] | undefined {
    return this.cells.backends()
  }

  /** Builds and opens every subtask and restores its state, then reports `restored`. */
  async deploy(): Promise<void> {
    const { slot } = this.deployment
    this.board.setSlotStatus(slot, 'restoring')
    this.board.beginSlotLife(slot)
    this.resetProgress()
    try {
      await this.build()
      this.exchange.open()
      await restoreSlot(this.built, this, {
        storage: this.options.storage,
        restore: this.deployment.restore,
        checkpointId: this.deployment.restoredCheckpoint,
        cellOf: (uid) => this.cells.of(uid),
      })
    } catch (error) {
      this.reportFailure(`slot ${slot}`, error)
      return
    }
    if (this.closed) return
    const fingerprint = graphFingerprint(this.options.graph)
    this.report({ kind: 'restored', attempt: this.attempt, fingerprint })
  }

  /** Obeys a command; `deploy` and those about ports are the agent's. */
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
        for (const { head } of this.subtasks) {
          if (head instanceof ChannelHead) head.aborted(command.checkpointId)
        }
        return
      case 'resume':
        for (const head of this.sources()) head.resume()
        this.wake()
        return
      case 'drain':
        for (const head of this.sources()) head.drain()
        this.wake()
        return
      case 'commit':
        void this.guard(this.checkpoints?.commitDirectly(command.checkpointId))
        return
      case 'operator-event':
        this.handleEvent(command.uid, command.subtask, command.event)
        return
      case 'metrics': {
        const { request } = command
        const metrics = this.metrics.snapshot()
        this.report({ kind: 'metrics', attempt: this.attempt, request, metrics })
        return
      }
      case 'peer-table-opened':
      case 'peer-table-dropped':
        noteRowTable(this.rowTables, command, this.deployment.slot)
        return
      case 'close':
        void this.close()
        return
      default:
    }
  }

  wake(): void {
    this.wakeAskedMs ??= this.clock.monotonicMs()
    this.loop.wake()
  }

  sendEvent(uid: string, subtask: number, event: unknown): void {
    this.report({ kind: 'operator-event', attempt: this.attempt, uid, subtask, event })
  }

  failed(subtask: Subtask, error: unknown): void {
    const [head] = subtask.operators
    this.reportFailure(subtask.name, error, head && operatorLabel(head.node))
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

  progress(subtask: Subtask, partition: number, nextOffset: number, asOfMs: number): void {
    this.progressOfSlot?.report(subtask.progressReporter, partition, nextOffset, asOfMs)
  }

  /** Ends without closing anything, as a killed thread would. */
  abandon(): void {
    if (this.closed) return
    this.closed = true
    this.loop.close()
    for (const subtask of this.subtasks) subtask.running = false
    this.cells.abandon()
    this.exchange.close()
  }

  /** Closes operators, state and ports, then reports `closed`. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    this.loop.close()
    for (const subtask of this.subtasks) subtask.running = false
    for (const subtask of this.subtasks) {
      for (const task of subtask.operators) await this.closeQuietly(() => task.operator.close())
    }
    await this.cells.close()
    this.exchange.close()
    this.options.report({ kind: 'closed', attempt: this.attempt })
  }

  /** A row that can be read during the restore is as new as the checkpoint; others say RESTORING. */
  private resetProgress(): void {
    const { slot, restoredSplits } = this.deployment
    const { partitions } = this.board.share
    for (let partition = 0; partition < partitions; partition++) {
      this.board.setProgress(slot, partition, 0, 0)
    }
    for (const { partition, nextOffset } of restoredSplits) {
      if (partition < partitions) this.board.setUntold(slot, partition, Math.max(nextOffset, 0))
    }
  }

  private report(report: SlotReport): void {
    if (!this.closed) this.options.report(report)
  }

  private async build(): Promise<void> {
    const site = this.site()
    let reporters = 0
    for (const planned of this.plan.chains) {
      if (this.deployment.slot >= planned.chain.parallelism) continue
      const built = await buildSubtask(planned, this.deployment.slot, site)
      const keyed = built.subtask.operators.some((task) => task.cell !== undefined)
      if (planned.behindFirstSource && keyed) built.subtask.progressReporter = reporters++
      this.built.push(built)
    }
    // Downstream first, so that what is in the slot leaves it before more is taken in.
    this.subtasks = this.built.map(({ subtask }) => subtask).reverse()
    this.progressOfSlot = new SlotProgress(this.board, this.deployment.slot, reporters)
    this.checkpoints = new SlotCheckpoints(this.deployment, this.subtasks, this.cells, (report) =>
      this.report(report),
    )
  }

  private site(): SubtaskSite {
    const { configuration, slot, restoredCheckpoint } = this.deployment
    const restore = new Map(this.deployment.restore.map((entry) => [entry.uid, entry]))
    return {
      slot,
      network: configuration.network,
      autoWatermarkIntervalMs: configuration.autoWatermarkIntervalMs,
      restoredCheckpoint,
      metrics: this.metrics,
      host: this,
      openCell: (node, subtask, metrics) => this.cells.open(node, subtask, metrics),
      operatorState: (node) => new OperatorStateMemory(restore.get(node.uid)?.operatorState),
      sender: (toSubtask) => (message) => this.exchange.send(toSubtask, message),
      creditReturn: (fromSubtask) => (channel, buffer) =>
        this.exchange.credit(fromSubtask, channel, buffer),
      addOutput: (channel) => this.exchange.addOutput(channel),
      addInput: (channel) => this.exchange.addInput(channel),
    }
  }

  private async start(): Promise<void> {
    for (const subtask of this.subtasks) subtask.running = true
    for (const subtask of this.subtasks) await subtask.head.start()
    this.board.setSlotStatus(this.deployment.slot, 'running')
    this.report({ kind: 'running', attempt: this.attempt })
    this.reportIfEnded()
    this.wake()
  }

  private turn(): LoopTurn {
    const startMs = this.clock.monotonicMs()
    if (this.wakeAskedMs !== undefined) this.observeLatency(startMs - this.wakeAskedMs)
    this.wakeAskedMs = undefined
    this.options.queries.answerAll()
    const worked = this.process(startMs + SLICE_MS)
    const copied = this.checkpoints?.copy(SNAPSHOT_MS) === true
    const nowMs = this.clock.nowMs()
    let nextTickMs: number | undefined
    for (const subtask of this.subtasks) subtask.tick(nowMs, !worked)
    this.flush(worked)
    for (const subtask of this.subtasks) {
      const at = subtask.nextTickMs(nowMs)
      if (at !== undefined && (nextTickMs === undefined || at < nextTickMs)) nextTickMs = at
    }
    return afterTurn({ worked, copied, nowMs, nextTickMs })
  }

  /** Gives every subtask its share until the slice is over or nothing is left to do. */
  private process(untilMs: number): boolean {
    const { subtasks } = this
    const count = subtasks.length
    let any = false
    for (;;) {
      let worked = false
      for (let i = 0; i < count; i++) {
        const subtask = subtasks[(this.firstSubtask + i) % count]!
        const shareEndMs = Math.min(untilMs, this.clock.monotonicMs() + SHARE_MS)
        if (subtask.step(shareEndMs)) worked = true
      }
      any ||= worked
      if (!worked) break
      if (this.clock.monotonicMs() >= untilMs) break
    }
    if (count > 0) this.firstSubtask = (this.firstSubtask + 1) % count
    return any
  }

  private flush(worked: boolean): void {
    const nowMs = this.clock.monotonicMs()
    const { bufferTimeoutMs } = this.deployment.configuration.network
    if (!worked || nowMs - this.lastFlushMs >= bufferTimeoutMs) {
      this.lastFlushMs = nowMs
      for (const subtask of this.subtasks) subtask.flush()
    }
    this.exchange.flush()
  }

  private sources(): SourceHead[] {
    return this.subtasks.flatMap(({ head }) => (head instanceof SourceHead ? [head] : []))
  }

  private handleEvent(uid: string, subtaskIndex: number | undefined, event: unknown): void {
    for (const subtask of this.subtasks) {
      if (subtaskIndex !== undefined && subtaskIndex !== subtask.index) continue
      for (const task of subtask.operators) {
        if (task.node.uid !== uid) continue
        try {
          subtask.clearPosition()
          task.call((operator) => operator.handleEvent(event))
        } catch (error) {
          subtask.fail(error)
        }
      }
    }
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

  private reportFailure(task: string, error: unknown, head?: string): void {
    if (this.failedAlready || this.closed) return
    this.failedAlready = true
    for (const subtask of this.subtasks) subtask.running = false
    const code = isWeirError(error) ? error.code : 'OPERATOR_FAILED'
    const stack = error instanceof Error ? error.stack : undefined
    const { attempt } = this
    const operator = culpritOf(error) ?? head
    const message = messageOf(error)
    this.options.report({ kind: 'failed', attempt, task, operator, code, message, stack })
  }

  /** What fails while closing cannot be helped any more and must not stop the rest. */
  private async closeQuietly(close: () => void | Promise<void>): Promise<void> {
    try {
      await close()
    } catch {
      // The attempt is over; its state is in the last checkpoint.
    }
  }
}
