import { isTerminal, type JobStatus } from '../../../runtime/job/status.ts'
import type { JobSnapshot } from '../port/job-snapshot.ts'

/** Start, end and duration of a job or of a task, ms. */
export interface Lifetime {
  readonly 'start-time': number
  /** -1 while it runs. */
  readonly 'end-time': number
  readonly duration: number
}

/** The states of a job in the order of Flink's `timestamps`. */
const STATUSES: readonly JobStatus[] = [
  'INITIALIZING',
  'CREATED',
  'RUNNING',
  'FAILING',
  'FAILED',
  'CANCELLING',
  'CANCELED',
  'FINISHED',
  'RESTARTING',
  'SUSPENDED',
]

/** Start, end and duration of the job. */
export function lifetimeOf({ timestamps, status, nowMs }: JobSnapshot): Lifetime {
  const start = timestamps.CREATED ?? timestamps.INITIALIZING ?? -1
  return lifetime(start, isTerminal(status) ? (timestamps[status] ?? nowMs) : -1, nowMs)
}

/** Start, end and duration of the tasks of the present attempt. */
export function taskLifetimeOf({ timestamps, status, nowMs }: JobSnapshot): Lifetime {
  const start = timestamps.RESTARTING ?? timestamps.INITIALIZING ?? -1
  return lifetime(start, isTerminal(status) ? (timestamps[status] ?? nowMs) : -1, nowMs)
}

/** Time of the last change of state, ms. */
export function lastModifiedOf({ timestamps }: JobSnapshot): number {
  return Math.max(-1, ...Object.values(timestamps))
}

/** Time of the last change to each state; 0 for a state that the job never had. */
export function timestampsOf({ timestamps }: JobSnapshot): Record<string, number> {
  return Object.fromEntries(STATUSES.map((status) => [status, timestamps[status] ?? 0]))
}

function lifetime(start: number, end: number, now: number): Lifetime {
  const last = end < 0 ? now : end
  return {
    'start-time': start,
    'end-time': end,
    duration: start < 0 ? 0 : Math.max(0, last - start),
  }
}
