import { refusedFamily } from '../../../core/prometheus/refused-family.ts'
import type { MetricFamily } from '../../../core/prometheus/text-format.ts'
import { JOB_TRANSITIONS, type JobStatus } from '../../../runtime/job/status.ts'
import type { JobSnapshot, ProcessSnapshot } from '../port/job-snapshot.ts'
import { jobLabels, measuredFamilies } from './measured-families.ts'

/** What a scrape of the REST port reports on. */
export interface ScrapedCluster {
  /** Version of Weir. */
  readonly version: string
  /** The process that answers. */
  readonly process: ProcessSnapshot
  /** Running and ended jobs. */
  readonly jobs: readonly JobSnapshot[]
  /** Requests that the port has refused, by error code. */
  readonly refused: Readonly<Record<string, number>>
}

/** Everything that `GET /metrics` of the REST port reports. */
export function clusterFamilies({
  version,
  process,
  jobs,
  refused,
}: ScrapedCluster): MetricFamily[] {
  return [
    {
      name: 'weir_build_info',
      type: 'gauge',
      help: 'Version of Weir; always 1.',
      samples: [{ labels: { version }, value: 1 }],
    },
    {
      name: 'process_resident_memory_bytes',
      type: 'gauge',
      help: 'Resident memory of the process that answers.',
      samples: [{ labels: {}, value: process.memory.resident }],
    },
    {
      name: 'process_start_time_seconds',
      type: 'gauge',
      help: 'Unix time of the start of the process that answers.',
      samples: [{ labels: {}, value: process.startedMs / 1000 }],
    },
    statusFamily(jobs),
    residentFamily(jobs),
    checkpointTimeFamily(jobs),
    checkpointAgeFamily(jobs),
    refusedFamily(refused),
    ...checkpointHistograms(jobs),
    ...measuredFamilies(jobs),
  ]
}

/** One sample for each possible status, so that a query of a status that was never reached gives 0. */
function statusFamily(jobs: readonly JobSnapshot[]): MetricFamily {
  const statuses = Object.keys(JOB_TRANSITIONS) as JobStatus[]
  return {
    name: 'weir_job_status',
    type: 'gauge',
    help: "1 for the status that a job has, 0 for the others; Flink's names.",
    samples: jobs.flatMap((job) =>
      statuses.map((status) => ({
        labels: { ...jobLabels(job), status },
        value: job.status === status ? 1 : 0,
      })),
    ),
  }
}

/** Memory of the processes that run jobs; an ended job has none. */
function residentFamily(jobs: readonly JobSnapshot[]): MetricFamily {
  return {
    name: 'weir_job_process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory of the process of a job.',
    samples: jobs
      .filter(({ metrics }) => Object.keys(metrics).length > 0)
      .map((job) => ({ labels: jobLabels(job), value: job.process.memory.resident })),
  }
}

function checkpointTimeFamily(jobs: readonly JobSnapshot[]): MetricFamily {
  return {
    name: 'weir_job_last_completed_checkpoint_timestamp_seconds',
    type: 'gauge',
    help: 'Unix time of the last acknowledgement of the last completed checkpoint.',
    samples: jobs.flatMap((job) => {
      const last = job.checkpoints?.history.find(({ status }) => status === 'COMPLETED')
      if (last === undefined) return []
      return [{ labels: jobLabels(job), value: last.latest_ack_timestamp / 1000 }]
    }),
  }
}

/** The age counts from the start of a job of which no checkpoint was completed: one that never completes is old. */
function checkpointAgeFamily(jobs: readonly JobSnapshot[]): MetricFamily {
  return {
    name: 'weir_job_checkpoint_age_seconds',
    type: 'gauge',
    help: 'Time since the last completed checkpoint of a running job, or since its start without one.',
    samples: jobs.flatMap((job) => {
      const { checkpoints, status, nowMs, timestamps } = job
      if (status !== 'RUNNING' || checkpoints?.settings.intervalMs === undefined) return []
      const last = checkpoints.history.find((one) => one.status === 'COMPLETED')
      const sinceMs = last?.latest_ack_timestamp ?? timestamps.CREATED ?? nowMs
      return [{ labels: jobLabels(job), value: Math.max(0, nowMs - sinceMs) / 1000 }]
    }),
  }
}

function checkpointHistograms(jobs: readonly JobSnapshot[]): MetricFamily[] {
  const samplesOf = (name: 'durationSeconds' | 'sizeBytes') =>
    jobs.flatMap((job) => {
      const histogram = job.checkpoints?.histograms?.[name]
      return histogram === undefined ? [] : [{ labels: jobLabels(job), histogram }]
    })
  return [
    {
      name: 'weir_job_checkpoint_duration_seconds',
      type: 'histogram',
      help: 'Time of completed checkpoints from trigger to completion.',
      samples: samplesOf('durationSeconds'),
    },
    {
      name: 'weir_job_checkpoint_size_bytes',
      type: 'histogram',
      help: 'Bytes that completed checkpoints added.',
      samples: samplesOf('sizeBytes'),
    },
  ]
}
