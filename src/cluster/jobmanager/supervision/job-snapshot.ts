import { isTerminal, type JobStatus } from '../../../runtime/job/status.ts'
import type { JobSnapshot, ProcessSnapshot } from '../../rest/port/job-snapshot.ts'
import type { JobRecord } from '../store/job-record.ts'

/** State of a job as the JobManager knows it beyond the last snapshot of its process. */
export interface JobFacts {
  readonly record: JobRecord
  /** State of a job that has no process now; undefined while a process runs. */
  readonly withoutProcess: JobStatus | undefined
  /** Time since which it has been in that state. */
  readonly sinceMs: number
  readonly nowMs: number
  readonly jobManager: ProcessSnapshot
}

/**
 * The snapshot of a job from what its process sent, if anything, and what the JobManager knows: when it was
 * submitted, the failures of earlier processes, and the state between two processes.
 */
export function jobSnapshotOf(sent: JobSnapshot | undefined, facts: JobFacts): JobSnapshot {
  const { record, withoutProcess, sinceMs, nowMs } = facts
  const base = sent ?? emptySnapshot(facts)
  const shared = {
    ...base,
    // A job that finds its checkpoints by its name has another id in its process.
    id: record.id,
    nowMs,
    failures: [...record.failures, ...base.failures],
    attempt: base.attempt + record.earlierAttempts,
    metrics: {
      ...base.metrics,
      numRestarts: (base.metrics['numRestarts'] ?? 0) + record.earlierAttempts,
    },
    timestamps: { ...base.timestamps, CREATED: record.submittedMs },
  }
  if (withoutProcess === undefined) return shared
  return {
    ...shared,
    status: withoutProcess,
    timestamps: { ...shared.timestamps, [withoutProcess]: sinceMs },
    slots: isTerminal(withoutProcess)
      ? []
      : base.slots.map(({ number }) => ({ number, status: 'down' as const })),
  }
}

function emptySnapshot({ record, nowMs, jobManager }: JobFacts): JobSnapshot {
  return {
    id: record.id,
    name: record.submission.job,
    status: 'CREATED',
    timestamps: {},
    nowMs,
    attempt: 0,
    parallelism: 1,
    vertices: [],
    slots: [],
    metrics: {},
    failures: [],
    checkpoints: undefined,
    configuration: {},
    restartStrategy: '',
    process: jobManager,
  }
}

/** Failures of a job that are kept. */
const FAILURES_KEPT = 20

/**
 * The record of a job after the loss of its process: what the process reported about failures and attempts
 * becomes part of the record.
 */
export function recordAfterLoss(
  record: JobRecord,
  sent: JobSnapshot | undefined,
  loss: ProcessLoss,
): JobRecord {
  const failure = {
    attempt: record.earlierAttempts + (sent?.attempt ?? 0),
    atMs: loss.atMs,
    code: loss.code,
    message: loss.message,
    stack: loss.message,
    task: undefined,
  }
  const failures = [...record.failures, ...(sent?.failures ?? []), failure]
  return {
    ...record,
    pid: undefined,
    earlierAttempts: record.earlierAttempts + Math.max(1, sent?.attempt ?? 0),
    failures: failures.slice(-FAILURES_KEPT),
    snapshot:
      sent === undefined ? record.snapshot : { ...sent, attempt: 0, failures: [], metrics: {} },
  }
}

/** How the process of a job was lost. */
export interface ProcessLoss {
  readonly atMs: number
  readonly code: string
  readonly message: string
}
