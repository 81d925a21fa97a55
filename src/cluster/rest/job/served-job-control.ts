import { createHash } from 'node:crypto'
import { type Clock, orAfter } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { StreamNode } from '../../../dataflow/stream-graph.ts'
import type { ServedJob } from '../../../jobs/served-job.ts'
import type { CheckpointStatistics } from '../../../runtime/checkpoint/coordinator/statistics.ts'
import { restartStrategyOf } from '../../../runtime/configuration/configuration.ts'
import type { RestartStrategyOptions } from '../../../runtime/configuration/restart-strategy.ts'
import type { JobExecution, JobFailure } from '../../../runtime/job/execution.ts'
import { isTerminal } from '../../../runtime/job/status.ts'
import { codeOfFailure } from '../../../runtime/protocol/slot-host.ts'
import type { JobPlan, PlannedChain } from '../../../runtime/subtask/job-plan.ts'
import type { CpuProfile, JobControl, StopRequest } from '../port/job-control.ts'
import type { JobData } from '../port/job-data.ts'
import type {
  CheckpointSettings,
  CheckpointsSnapshot,
  FailureSnapshot,
  JobSnapshot,
  OperatorSnapshot,
  SlotSnapshot,
  VertexSnapshot,
} from '../port/job-snapshot.ts'
import { accumulatorsSnapshot } from './accumulators-snapshot.ts'
import type { ItemTitles } from './item-titles.ts'
import { processSnapshot } from './process-snapshot.ts'
import { placeInStorage, savepointParentOf } from './savepoint-place.ts'
import { ServedJobData } from './served-job-data.ts'

/** Age up to which a snapshot answers again: one page of a dashboard sends many requests at once. */
const FRESH_MS = 250
/** Longest wait for the start of a job of which a checkpoint is wanted. */
const START_MS = 60_000

/** The job of this process as the REST interface sees it. */
export class ServedJobControl implements JobControl {
  readonly data: JobData
  private readonly job: ServedJob
  private readonly clock: Clock
  private readonly vertices: readonly VertexSnapshot[]
  private last: { readonly atMs: number; readonly snapshot: Promise<JobSnapshot> } | undefined

  /** `titles`: those of items, for recommendations. */
  constructor(job: ServedJob, clock: Clock, titles: ItemTitles = new Map()) {
    this.job = job
    this.clock = clock
    this.data = new ServedJobData(job, clock, titles)
    this.vertices = verticesOf(job.execution.plan)
    job.execution.onStatus(() => {
      this.last = undefined
    })
  }

  get id(): string {
    return this.job.execution.jobId
  }

  async snapshot(): Promise<JobSnapshot> {
    const atMs = this.clock.monotonicMs()
    const { last } = this
    if (last !== undefined && atMs - last.atMs < FRESH_MS) return await last.snapshot
    this.last = { atMs, snapshot: this.take() }
    return await this.last.snapshot
  }

  async cancel(): Promise<void> {
    // The caller learns that the job is being cancelled; its end takes as long as its slots need.
    void this.job.execution.cancel()
    this.last = undefined
  }

  async checkpoint(): Promise<number> {
    await this.whenStarted()
    return await this.job.execution.triggerCheckpoint()
  }

  async savepoint(folder: string | undefined): Promise<string> {
    const storage = this.storage()
    const parent = folder === undefined ? undefined : savepointParentOf(folder, storage)
    await this.whenStarted()
    return placeInStorage(await this.job.execution.triggerSavepoint(parent), storage)
  }

  async stop({ folder, drain }: StopRequest): Promise<string> {
    const storage = this.storage()
    const parent = folder === undefined ? {} : { folder: savepointParentOf(folder, storage) }
    await this.whenStarted()
    const taken = await this.job.execution.stopWithSavepoint({ ...parent, drain })
    return placeInStorage(taken, storage)
  }

  keyGroupRecords(uid: string): Promise<MetricSnapshot> {
    return this.job.execution.keyGroupRecords(uid)
  }

  async profile(slot: number, durationMs: number): Promise<CpuProfile> {
    return JSON.parse(await this.job.execution.profile(slot, durationMs)) as CpuProfile
  }

  /**
   * Waits until a job that was just submitted runs: before that it has no checkpoints. One that does not start
   * says why when it is asked.
   */
  private async whenStarted(): Promise<void> {
    const { execution } = this.job
    if (execution.status !== 'CREATED' && execution.status !== 'INITIALIZING') return
    const runs = execution.waitFor('RUNNING').catch(() => undefined)
    await orAfter(this.clock, START_MS, runs, () => undefined)
  }

  /** Root of checkpoint storage. Throws ILLEGAL_STATE for a job without checkpoints. */
  private storage(): string {
    const { directory } = this.job.execution.configuration.checkpoints
    if (directory !== undefined) return directory
    throw new WeirError(
      'ILLEGAL_STATE',
      'the job takes no checkpoints; set execution.checkpointing.dir',
    )
  }

  private async take(): Promise<JobSnapshot> {
    const { execution, configuration, port } = this.job
    const { plan } = execution
    const metrics = isTerminal(execution.status) ? {} : await this.job.metrics()
    return {
      id: execution.jobId,
      name: plan.jobName,
      status: execution.status,
      timestamps: { ...execution.timestamps },
      nowMs: this.clock.nowMs(),
      attempt: execution.attempt,
      parallelism: execution.configuration.parallelism,
      vertices: this.vertices,
      slots: this.slots(),
      metrics,
      accumulators: accumulatorsSnapshot(execution.accumulatorParts),
      failures: execution.failures.map(failureSnapshot),
      checkpoints: checkpointsSnapshot(execution),
      waits: execution.waits,
      configuration,
      restartStrategy: restartSentence(restartStrategyOf(execution.configuration)),
      process: processSnapshot(port),
    }
  }

  private slots(): readonly SlotSnapshot[] {
    const { board } = this.job.execution
    return Array.from({ length: board.share.slots }, (_, number) => ({
      number,
      status: board.slotStatus(number),
    }))
  }
}

/** A failure of a job as plain data, with the stack of its cause where there is one. */
function failureSnapshot({ attempt, atMs, error }: JobFailure): FailureSnapshot {
  const { task } = error.details
  const { cause } = error
  const stack = cause instanceof Error ? cause.stack : error.stack
  return {
    attempt,
    atMs,
    code: codeOfFailure(error),
    message: error.message,
    stack: `${error.message}\n${stack ?? ''}`.trimEnd(),
    task: typeof task === 'string' ? task : undefined,
  }
}

/** A restart strategy in words. */
function restartSentence(strategy: RestartStrategyOptions): string {
  switch (strategy.type) {
    case 'none':
      return 'no restart'
    case 'fixed-delay':
      return `at most ${strategy.attempts} restarts, ${strategy.delayMs} ms after a failure`
    case 'failure-rate':
      return `at most ${strategy.maxFailuresPerInterval} failures within ${strategy.failureRateIntervalMs} ms, restart after ${strategy.delayMs} ms`
    case 'exponential-delay':
      return `restart after ${strategy.initialBackoffMs} ms, each time ${strategy.backoffMultiplier} times longer up to ${strategy.maxBackoffMs} ms`
  }
}

/** The vertices of a job: its chains of operators. */
function verticesOf({ chains }: JobPlan): readonly VertexSnapshot[] {
  return chains.map(vertexOf)
}

/** Id of a vertex, which stays the same as long as the operator at its head keeps its uid. */
function vertexId({ uid }: Pick<StreamNode, 'uid'>): string {
  return createHash('md5').update(uid).digest('hex')
}

function vertexOf({ chain, inputs }: PlannedChain): VertexSnapshot {
  const { head, members } = chain
  return {
    id: vertexId(head),
    uid: head.uid,
    name: members.map(titleOf).join(' -> '),
    parallelism: chain.parallelism,
    hasOwnParallelism: members.every((node) => node.hasOwnParallelism),
    maxParallelism: head.maxParallelism,
    isSource: head.body.kind === 'source',
    operators: members.map(
      (node): OperatorSnapshot => ({
        uid: node.uid,
        name: titleOf(node),
        hasOutput: chain.outEdges.some(({ from }) => from === node.id),
      }),
    ),
    inputs: inputs.map(({ edge, from }) => ({
      from: vertexId(from.head),
      partitioning: edge.partitioning.kind,
    })),
  }
}

/** As Flink writes names: sources and sinks say so. */
function titleOf({ body, isSink, name }: StreamNode): string {
  if (body.kind === 'source') return `Source: ${name}`
  return isSink ? `Sink: ${name}` : name
}

/** The checkpoints of a job, with places as URLs; undefined for a job that takes none. */
function checkpointsSnapshot(execution: JobExecution): CheckpointsSnapshot | undefined {
  const { checkpointStatistics: statistics, configuration } = execution
  const { directory } = configuration.checkpoints
  if (statistics === undefined || directory === undefined) return undefined
  const restored = statistics.latestRestored
  return {
    counts: statistics.counts(),
    history: statistics.recent().map((checkpoint) => copyOf(checkpoint, directory)),
    histograms: statistics.histograms(),
    restored:
      restored === undefined
        ? undefined
        : {
            id: restored.id,
            atMs: restored.restore_timestamp,
            isSavepoint: restored.is_savepoint,
            path: placeInStorage(restored.external_path, directory),
          },
    settings: settingsOf(configuration, directory),
  }
}

/** The tracker changes its objects while a checkpoint is in progress. */
function copyOf(checkpoint: CheckpointStatistics, directory: string): CheckpointStatistics {
  const { external_path: path, tasks } = checkpoint
  const place = path === undefined ? undefined : placeInStorage(path, directory)
  return { ...checkpoint, external_path: place, tasks: [...tasks] }
}

function settingsOf(
  { checkpoints, stateBackend }: JobExecution['configuration'],
  directory: string,
): CheckpointSettings {
  return {
    mode: checkpoints.mode,
    intervalMs: checkpoints.intervalMs,
    unaligned: checkpoints.unaligned,
    alignedTimeoutMs: checkpoints.alignedTimeoutMs,
    timeoutMs: checkpoints.timeoutMs,
    minPauseMs: checkpoints.minPauseMs,
    tolerableFailures: checkpoints.tolerableFailures,
    retained: checkpoints.retained,
    directory,
    savepointDirectory: checkpoints.savepointDirectory ?? 'savepoints',
    stateBackend,
  }
}
