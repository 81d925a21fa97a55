import type { Cancel, Clock } from '../../../core/clock.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import { isTerminal } from '../../../runtime/job/status.ts'
import { learningSeries } from '../json/learning.ts'
import { throughputSeries } from '../json/throughput.ts'
import type { Cluster } from '../port/cluster.ts'
import type { JobSnapshot } from '../port/job-snapshot.ts'
import { SampleRing } from './sample-ring.ts'

/** Time between two samples, ms. */
export const SAMPLE_MS = 2000
/** Samples of a job that are kept: ten minutes. */
export const SAMPLES = 300
/** Metrics of a job that are kept; with 300 samples of 8 bytes they take up to 4.8 MB. */
const METRICS = 2000

/**
 * Metrics of the last ten minutes of every running job, so that a chart is full when its page opens.
 * The history of a job that ended is kept for another ten minutes.
 */
export class JobHistories implements Disposable {
  private readonly cluster: Pick<Cluster, 'jobs'>
  private readonly clock: Clock
  private readonly rings = new Map<string, SampleRing>()
  private cancel: Cancel = () => {}
  private isStopped = false

  constructor(cluster: Pick<Cluster, 'jobs'>, clock: Clock) {
    this.cluster = cluster
    this.clock = clock
  }

  /** Takes samples from now on, until disposal. */
  start(): void {
    this.cancel = this.clock.after(SAMPLE_MS, () => void this.sampleAndGoOn())
  }

  /** Takes one sample of each running job. */
  async sample(): Promise<void> {
    const jobs = await this.cluster.jobs()
    for (const job of jobs) {
      if (!isTerminal(job.status)) this.ringOf(job.id).add(job.nowMs, valuesOf(job))
    }
    const oldestMs = this.clock.nowMs() - SAMPLES * SAMPLE_MS
    for (const [id, ring] of this.rings) {
      if (ring.newestMs < oldestMs || !jobs.some((job) => job.id === id)) this.rings.delete(id)
    }
  }

  /** Samples of a job; undefined before the first one. */
  of(jobId: string): SampleRing | undefined {
    return this.rings.get(jobId)
  }

  [Symbol.dispose](): void {
    this.isStopped = true
    this.cancel()
  }

  private async sampleAndGoOn(): Promise<void> {
    // A job that does not answer leaves a gap in its charts.
    await this.sample().catch(() => {})
    if (!this.isStopped) this.start()
  }

  private ringOf(id: string): SampleRing {
    const known = this.rings.get(id)
    if (known !== undefined) return known
    const ring = new SampleRing({ samples: SAMPLES, metrics: METRICS })
    this.rings.set(id, ring)
    return ring
  }
}

function valuesOf(job: JobSnapshot): MetricSnapshot {
  return { ...job.metrics, ...throughputSeries(job), ...learningSeries(job) }
}
