import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { segmentPath } from '../checkpoint/checkpoint-paths.ts'
import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import type { Clock } from '../core/clock.ts'
import { isWeirError, messageOf } from '../core/errors.ts'
import { keyGroupRangeOf } from '../core/key-group.ts'
import { MetricGroup } from '../core/metrics.ts'
import { graphFingerprint } from '../dataflow/graph-fingerprint.ts'
import type { StreamGraph, StreamNode } from '../dataflow/stream-graph.ts'
import type { StateDescriptor } from '../state/descriptors.ts'
import { ProgressBoard } from '../state/progress-board.ts'
import { createKeyedStateBackend } from '../state/slot-keyed-state.ts'
import { AnnouncingBackend } from './announcing-backend.ts'
import { ChannelHead } from './channel-head.ts'
import { isKeyed, type JobPlan, planJob } from './job-plan.ts'
import { KeyedStateCell, type SegmentTarget } from './keyed-state-cell.ts'
import { OperatorStateMemory } from './operator-state-memory.ts'
import { restoreSlot } from './restore-slot.ts'
import { SlotExchange } from './slot-exchange.ts'
import { type LoopTurn, SlotLoop } from './slot-loop.ts'
import { SlotProgress } from './slot-progress.ts'
import type {
  QueryableDeclaration,
  SlotCommand,
  SlotDeployment,
  SlotReport,
} from './slot-protocol.ts'
import type { QueriedBackend, SlotQueries } from './slot-queries.ts'
import { SourceHead } from './source-head.ts'
import type { Subtask, SubtaskHost } from './subtask.ts'
import { type BuiltSubtask, buildSubtask, type SubtaskSite } from './subtask-builder.ts'
import { SubtaskSnapshot } from './subtask-snapshot.ts'

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
  private readonly cells: { readonly operatorUid: string; readonly cell: KeyedStateCell }[] = []
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
    this.loop = new SlotLoop(clock, () => this.turn())
    this.exchange = new SlotExchange(deployment.slot, deployment.peers, () => this.wake())
    const latency = this.metrics.group(`slot.${deployment.slot}`).histogram('mailboxLatencyMs')
    this.observeLatency = (ms) => latency.observe(ms)
  }

  /** The keyed state of this slot's operators, for queries; undefined once it is closed. */
  backends(): readonly QueriedBackend[] | undefined {
    if (this.closed) return undefined
    return this.cells.map(({ operatorUid, cell }) => ({ operatorUid, backend: cell.backend }))
  }

  /** Builds and opens every subtask and restores its state, then reports `restored`. */
  async deploy(): Promise<void> {
    const { slot } = this.deployment
    this.board.setSlotStatus(slot, 'restoring')
    for (let partition = 0; partition < this.board.share.partitions; partition++) {
      this.board.setProgress(slot, partition, 0, 0)
    }
    try {
      await this.build()
      this.exchange.open()
      await restoreSlot(this.built, this, {
        storage: this.options.storage,
        restore: this.deployment.restore,
        checkpointId: this.deployment.restoredCheckpoint,
        cellOf: (uid) => this.cells.find((entry) => entry.operatorUid === uid)?.cell,
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
        this.trigger(command.barrier, command.stopAfter)
        return
      case 'checkpoint-completed':
        void this.guard(this.completed(command.checkpointId))
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
        void this.guard(this.commitDirectly(command.checkpointId))
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
      case 'close':
        void this.close()
        return
      default:
        return
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
    this.reportFailure(subtask.name, error)
  }

  ended(): void {
    this.endedSubtasks += 1
    this.reportIfEnded()
  }

  snapshot(subtask: Subtask, barrier: Barrier, alignmentMs: number): void {
    subtask.whenFree(() => this.beginSnapshot(subtask, barrier, alignmentMs))
  }

  declined(subtask: Subtask, checkpointId: number, reason: string): void {
    const { jobId } = this.deployment
    const { attempt } = this
    const decline = { jobId, attempt, checkpointId, task: subtask.name, reason }
    this.report({ kind: 'decline', attempt, decline })
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
    for (const { cell } of this.cells) cell.backend.close()
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
    for (const { cell } of this.cells) await this.closeQuietly(() => cell.close())
    this.exchange.close()
    await this.closeQuietly(() => rm(this.stateFolder(), { recursive: true, force: true }))
    this.options.report({ kind: 'closed', attempt: this.attempt })
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
      openCell: (node, subtask, metrics) => this.openCell(node, subtask, metrics),
      operatorState: (node) => new OperatorStateMemory(restore.get(node.uid)?.operatorState),
      sender: (toSubtask) => (message) => this.exchange.send(toSubtask, message),
      creditReturn: (fromSubtask) => (channel, buffer) =>
        this.exchange.credit(fromSubtask, channel, buffer),
      addOutput: (channel) => this.exchange.addOutput(channel),
      addInput: (channel) => this.exchange.addInput(channel),
    }
  }

  private async openCell(
    node: StreamNode,
    subtask: number,
    metrics: MetricGroup,
  ): Promise<KeyedStateCell> {
    const { configuration, slot, slots, attempt } = this.deployment
    const backend = await createKeyedStateBackend({
      operatorUid: node.uid,
      slot,
      keyGroups: keyGroupRangeOf(subtask, node.parallelism, node.maxParallelism),
      maxParallelism: node.maxParallelism,
      storeType: configuration.stateBackend,
      storeDirectory: join(this.stateFolder(), node.uid),
      memoryBudgetBytes: Math.floor(
        configuration.stateMemoryBytes / slots / Math.max(1, this.keyedOperators()),
      ),
      clock: this.clock,
      listener: {
        tableOpened: (share) => this.report({ kind: 'table-opened', attempt, share }),
        tableDropped: (state, version) =>
          this.report({ kind: 'table-dropped', attempt, operatorUid: node.uid, state, version }),
      },
      metrics,
    })
    const announced = new AnnouncingBackend(backend, (descriptor) =>
      this.announce(node, descriptor),
    )
    const cell = new KeyedStateCell(announced, this.segmentTarget(node, subtask))
    this.cells.push({ operatorUid: node.uid, cell })
    return cell
  }

  /** Where this attempt of the slot spills state to. */
  private stateFolder(): string {
    const { jobId, slot, attempt } = this.deployment
    return join(this.options.stateDirectory, jobId, `${slot}-${attempt}`)
  }

  private announce(node: StreamNode, descriptor: StateDescriptor): void {
    const vector = descriptor.kind === 'vector'
    const declaration: QueryableDeclaration = {
      queryableName: descriptor.queryableName!,
      operatorUid: node.uid,
      state: descriptor.name,
      stateKind: descriptor.kind,
      format: vector ? `vector/${descriptor.dimension}` : descriptor.serializer.id,
      keySuffix: vector ? (descriptor.keySuffix ?? '') : '',
      slot: this.deployment.slot,
      parallelism: node.parallelism,
      maxParallelism: node.maxParallelism,
    }
    this.report({ kind: 'queryable-declared', attempt: this.attempt, declaration })
  }

  private keyedOperators(): number {
    const { slot } = this.deployment
    return this.plan.chains
      .filter(({ chain }) => chain.parallelism > slot)
      .flatMap(({ chain }) => chain.members.filter((node) => isKeyed(node, chain.inEdges))).length
  }

  private segmentTarget(node: StreamNode, subtask: number): SegmentTarget | undefined {
    const { storage } = this.options
    const { jobId, generation, attempt } = this.deployment
    if (storage === undefined) return undefined
    return {
      storage,
      pathOf: (number) =>
        segmentPath({ jobId, generation, attempt, uid: node.uid, subtask, number }),
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
    const copied = this.copySnapshots()
    const nowMs = this.clock.nowMs()
    let wakeAtMs: number | undefined
    for (const subtask of this.subtasks) subtask.tick(nowMs, !worked)
    this.flush(worked)
    for (const subtask of this.subtasks) {
      const at = subtask.nextTickMs(nowMs)
      if (at !== undefined && (wakeAtMs === undefined || at < wakeAtMs)) wakeAtMs = at
    }
    return { more: worked || copied, wakeAtMs }
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

  private copySnapshots(): boolean {
    let copied = false
    for (const subtask of this.subtasks) {
      const { snapshot } = subtask
      if (snapshot?.copying && snapshot.step(SNAPSHOT_MS)) copied = true
    }
    return copied
  }

  private sources(): SourceHead[] {
    return this.subtasks.flatMap(({ head }) => (head instanceof SourceHead ? [head] : []))
  }

  private trigger(barrier: Barrier, stopAfter: boolean): void {
    for (const subtask of this.subtasks) {
      if (!(subtask.head instanceof SourceHead)) continue
      if (stopAfter) subtask.head.pause()
      this.snapshot(subtask, barrier, 0)
    }
  }

  private beginSnapshot(subtask: Subtask, barrier: Barrier, alignmentMs: number): void {
    if (!subtask.running) return
    subtask.snapshot?.rush()
    const snapshot = new SubtaskSnapshot(subtask, barrier, alignmentMs)
    subtask.snapshot = snapshot
    try {
      subtask.clearPosition()
      snapshot.begin()
    } catch (error) {
      subtask.fail(error)
      return
    }
    void snapshot.done.then((outcome) => {
      if (subtask.snapshot === snapshot) subtask.snapshot = undefined
      const { jobId } = this.deployment
      const { attempt } = this
      const { checkpointId } = barrier
      if (outcome.kind === 'failed') {
        this.declined(subtask, checkpointId, messageOf(outcome.error))
        return
      }
      const { operators, timings } = outcome
      const ack = { jobId, attempt, checkpointId, task: subtask.name, operators, timings }
      this.report({ kind: 'ack', attempt, ack })
    })
    this.wake()
  }

  private async completed(checkpointId: number): Promise<void> {
    for (const { cell } of this.cells) cell.completed(checkpointId)
    await Promise.all(
      this.subtasks.map((subtask) =>
        subtask.inOrder(async () => {
          for (const task of subtask.operators)
            await task.operator.checkpointCompleted(checkpointId)
        }),
      ),
    )
    this.report({ kind: 'committed', attempt: this.attempt, checkpointId })
  }

  /** The end of a job without checkpoints: what a last checkpoint would do, without storing it. */
  private async commitDirectly(checkpointId: number): Promise<void> {
    for (const subtask of this.subtasks) {
      await subtask.suspendWhile(async () => {
        for (const task of subtask.operators) {
          await task.operator.prepareSnapshot(checkpointId)
          await task.operator.checkpointCompleted(checkpointId)
        }
      })
    }
    this.report({ kind: 'committed', attempt: this.attempt, checkpointId })
  }

  private handleEvent(uid: string, subtaskIndex: number | undefined, event: unknown): void {
    for (const subtask of this.subtasks) {
      if (subtaskIndex !== undefined && subtaskIndex !== subtask.index) continue
      for (const task of subtask.operators) {
        if (task.node.uid !== uid) continue
        try {
          subtask.clearPosition()
          task.operator.handleEvent(event)
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

  private async guard(work: Promise<void>): Promise<void> {
    try {
      await work
    } catch (error) {
      this.reportFailure(`slot ${this.deployment.slot}`, error)
    }
  }

  private reportFailure(task: string, error: unknown): void {
    if (this.failedAlready || this.closed) return
    this.failedAlready = true
    for (const subtask of this.subtasks) subtask.running = false
    const code = isWeirError(error) ? error.code : 'OPERATOR_FAILED'
    const stack = error instanceof Error ? error.stack : undefined
    const { attempt } = this
    this.options.report({ kind: 'failed', attempt, task, code, message: messageOf(error), stack })
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
