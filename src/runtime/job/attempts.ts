import { rm, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import type { MetricSnapshot } from '../../core/metrics.ts'
import { wholeNumber } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { graphFingerprint } from '../../dataflow/plan/graph-fingerprint.ts'
import { requireUids } from '../../dataflow/plan/require-uids.ts'
import type { AccumulatorPart } from '../../operators/port/accumulator.ts'
import { ProgressBoard } from '../../state/catalog/progress-board.ts'
import { readersAreUpToDate } from '../../state/catalog/readers-are-up-to-date.ts'
import type { CheckpointCoordinator } from '../checkpoint/coordinator/coordinator.ts'
import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import type { JobConfiguration } from '../configuration/configuration.ts'
import { removeLeftOver, spillFolder, stateDirectoryOf } from '../configuration/state-directory.ts'
import { busySlot, SlotActivity } from '../protocol/slot-activity.ts'
import type { SlotCommand } from '../protocol/slot-messages.ts'
import { type JobPlan, planJob, taskNames } from '../subtask/job-plan.ts'
import { AttemptExecution, type AttemptListener } from './attempt-execution.ts'
import { type AttemptRestore, chooseRestore } from './checkpoints.ts'
import { JobCoordinators } from './coordinators.ts'
import type { JobExecutionOptions } from './execution-options.ts'
import { JobServing } from './serving.ts'
import { SlotPool } from './slot-pool.ts'

/** Source partitions whose progress is tracked for queries. */
const BOARD_PARTITIONS = 1024

/**
 * The attempts of one job, one after the other over the same slots: each is prepared, deployed and
 * closed here. A slot's report goes to the attempt that runs, and from it to what handles it.
 */
export class JobAttempts {
  readonly board: ProgressBoard
  private readonly activity: SlotActivity
  private readonly options: JobExecutionOptions
  private readonly listener: AttemptListener
  readonly plan: JobPlan
  private readonly pool: SlotPool
  private readonly serving: JobServing
  private readonly coordinators: JobCoordinators
  private attempt: AttemptExecution | undefined
  /** What has ended the attempt before; undefined for nothing. */
  private lastFailure: WeirError | undefined
  /** The checkpoint that the first attempt restored: the job may have changed since. */
  private firstRestored: number | undefined
  private attempts = 0
  /** Generation of the checkpoints of the attempt; 0 without checkpoints. */
  private generation = 0
  /** Those of the attempt that runs or ran last, by slot. */
  private accumulatorsOfSlots: ReadonlyMap<number, readonly AccumulatorPart[]> = new Map()

  /** Throws INVALID_ARGUMENT when the configuration has fewer slots than the job needs. */
  constructor(options: JobExecutionOptions, listener: AttemptListener) {
    const { graph, configuration, clock, startSlot } = options
    this.options = options
    this.listener = listener
    if (!configuration.autoGenerateUids) requireUids(graph)
    this.plan = planJob(graph)
    const slots = slotsOf(this.plan, configuration)
    this.board = ProgressBoard.create(slots, BOARD_PARTITIONS, this.plan.sources)
    this.activity = SlotActivity.create(slots)
    this.serving = new JobServing(this.board, options.serving)
    this.coordinators = new JobCoordinators(this.board, options, (notice) =>
      listener.warned(notice),
    )
    this.pool = new SlotPool({
      count: slots,
      startSlot,
      configuration,
      clock,
      activity: this.activity,
      listener: {
        report: (slot, report) => this.attempt?.onReport(slot, report),
        lost: (slot, error) => {
          this.serving.slotDown(slot)
          this.attempt?.onLost(slot, error)
        },
        busy: (slot, call) => {
          const operator = graph.nodes.find(({ id }) => id === call.node)
          listener.warned(busySlot(slot, call, operator))
        },
        started: (slot, host) => this.serving.attach(slot, host),
      },
    })
  }

  /** Number of the attempt that runs or ran last, 0 before the first. */
  get count(): number {
    return this.attempts
  }

  /** The attempt that is deployed. */
  get current(): AttemptExecution | undefined {
    return this.attempt
  }

  /** Every task of the job. */
  get tasks(): readonly string[] {
    return taskNames(this.plan)
  }

  /** Begins to start the slots, while the caller looks for the checkpoint to restore. */
  begin(): void {
    this.serving.begin(this.options.graph.jobName)
    this.pool.ensureStarted()
  }

  /** Counts the next attempt and chooses what it restores. Throws as `chooseRestore`. */
  async prepareNext(checkpoints: CheckpointCoordinator | undefined): Promise<AttemptRestore> {
    this.attempts += 1
    const { board, attempts: attempt } = this
    const { configuration, jobId } = this.options
    if (attempt === 1) await removeLeftOver(stateDirectoryOf(configuration), jobId)
    this.generation = checkpoints?.generation ?? 0
    const restore = await chooseRestore(this.options, { checkpoints, board, attempt })
    this.firstRestored ??= restore.checkpointId
    this.pool.ensureStarted()
    return restore
  }

  /** Deploys the attempt that was prepared. */
  deploy(restore: AttemptRestore, checkpoints: CheckpointCoordinator | undefined): void {
    const { jobId, graph, configuration, clock, storageUrl } = this.options
    const { listener: job, serving, coordinators } = this
    const fingerprint = graphFingerprint(graph)
    const attempt = new AttemptExecution({
      slots: this.pool.hosts,
      clock,
      fingerprint,
      dropped: restore.dropped,
      deployment: {
        jobId,
        jobName: graph.jobName,
        attempt: this.attempts,
        configuration,
        generation: this.generation,
        storageUrl: checkpoints === undefined ? undefined : storageUrl,
        restoredCheckpoint: restore.checkpointId,
        mayHaveChanged: restore.checkpointId === this.firstRestored,
        restoredSplits: restore.splits,
        plan: restore.plan,
        board: this.board.share,
        namesCallers: this.lastFailure?.details['stray'] === true,
        activity: this.activity.buffer,
      },
      receivers: { job, checkpoints, serving, coordinators },
    })
    this.attempt = attempt
    this.accumulatorsOfSlots = attempt.accumulators
    coordinators.start({
      attempt: this.attempts,
      toSlots: (make) => this.toSlots(make),
      readersAreUpToDate: () => this.readersAreUpToDate(),
    })
    attempt.deploy()
  }

  /** Sends a command to every slot of the present attempt; nothing without one. */
  toSlots(make: (attempt: number) => SlotCommand): void {
    this.attempt?.sendAll(make(this.attempts))
  }

  private readersAreUpToDate(): boolean {
    const { attempt, board } = this
    if (attempt === undefined) return false
    const slots = attempt.peerTables.opened(board)
    const threads = this.options.serving?.tableReaders() ?? []
    return readersAreUpToDate({ slots, readers: [...attempt.peerTables.readers(), ...threads] })
  }

  /** Injects a barrier at the sources of the present attempt. */
  trigger(barrier: Barrier, stopAfter: boolean): void {
    this.attempt?.trigger(barrier, stopAfter)
  }

  /** Metrics of every subtask of the present attempt that answers. */
  async metrics(): Promise<MetricSnapshot> {
    return (await this.attempt?.metrics()) ?? {}
  }

  /** See `JobExecution.accumulatorParts`. */
  get accumulatorParts(): readonly AccumulatorPart[] {
    const slots = [...this.accumulatorsOfSlots].sort(([a], [b]) => a - b)
    return slots.flatMap(([, parts]) => parts)
  }

  /** See `JobExecution.keyGroupRecords`. */
  async keyGroupRecords(uid: string): Promise<MetricSnapshot> {
    return (await this.attempt?.metrics(uid)) ?? {}
  }

  /** See `JobExecution.profile`. */
  async profile(slot: number, durationMs: number): Promise<string> {
    const host = this.pool.hosts[slot]
    if (host?.profile !== undefined) return await host.profile(durationMs)
    throw new WeirError(
      'UNSUPPORTED',
      `slot ${slot} does not run in a thread, which can be profiled`,
    )
  }

  /** Ends a slot abruptly: for tests of recovery. */
  killSlot(slot: number): void {
    const { hosts } = this.pool
    checkArgument('job.killSlot', 'slot', wholeNumber({ min: 0, max: hosts.length - 1 }), slot)
    hosts[slot]!.kill()
  }

  /**
   * Closes the present attempt; slots that do not answer in time are ended. Returns what the first operator threw that
   * could not be closed.
   */
  async close(): Promise<WeirError | undefined> {
    const { attempt } = this
    if (attempt === undefined) return undefined
    this.coordinators.stop()
    const silent = await attempt.close()
    this.attempt = undefined
    this.lastFailure = attempt.failure
    await this.pool.discard(silent)
    return attempt.closeFailure
  }

  /** Ends every slot and deletes what the job spilled; no attempt follows. */
  async shutDown(): Promise<void> {
    const { configuration, jobId } = this.options
    await this.pool.close()
    this.serving.close()
    // What is left over does no harm: the next start with this job id deletes it.
    const folder = spillFolder(stateDirectoryOf(configuration), jobId, this.generation)
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
    // Succeeds when no other run of the job has a folder there.
    await rmdir(dirname(folder)).catch(() => undefined)
  }
}

/** Number of slots of a job: as configured, otherwise its largest parallelism. */
function slotsOf({ slots }: JobPlan, configuration: JobConfiguration): number {
  const configured = configuration.slots ?? slots
  if (configured >= slots) return configured
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the job needs ${slots} slots and taskmanager.numberOfTaskSlots is ${configured}; raise it or lower the parallelism`,
  )
}
