import { type Clock, orAfter } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { ServedJob } from '../../../jobs/served-job.ts'
import { isTerminal } from '../../../runtime/job/status.ts'
import type { CpuProfile, JobControl, StopRequest } from '../port/job-control.ts'
import type { JobData } from '../port/job-data.ts'
import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import { executionSnapshot, verticesOf } from './execution-snapshot.ts'
import type { ItemTitles } from './item-titles.ts'
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
    const metrics = isTerminal(execution.status) ? {} : await this.job.metrics()
    return executionSnapshot(execution, {
      ...{ metrics, configuration, queryPort: port },
      vertices: this.vertices,
      nowMs: this.clock.nowMs(),
    })
  }
}
