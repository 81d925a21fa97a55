import type { FailureSnapshot, JobSnapshot } from '../port/job-snapshot.ts'
import { slotId } from './task-managers.ts'

/** `/jobs/:jobid/exceptions`: failures, newest first, at most `limit` of them. */
export function exceptionsJson(job: JobSnapshot, limit: number): object {
  const newest = [...job.failures].reverse()
  const root = newest[0]
  const truncated = newest.length > limit
  return {
    'root-exception': root?.stack ?? null,
    timestamp: root?.atMs ?? null,
    'all-exceptions': [],
    truncated,
    exceptionHistory: {
      entries: newest.slice(0, limit).map((failure) => entryJson(job, failure)),
      truncated,
    },
  }
}

function entryJson(job: JobSnapshot, failure: FailureSnapshot): object {
  const subtask = subtaskOf(failure)
  const vertex = job.vertices.find(({ uid }) => failure.task?.startsWith(`${uid}#`) === true)
  const { host, pid } = job.process
  return {
    exceptionName: failure.code,
    stacktrace: failure.stack,
    timestamp: failure.atMs,
    failureLabels: {},
    taskName:
      vertex === undefined || subtask === undefined
        ? null
        : `${vertex.name} (${subtask + 1}/${vertex.parallelism}) - execution #${Math.max(0, failure.attempt - 1)}`,
    endpoint: subtask === undefined ? null : `${host}:${pid}`,
    taskManagerId: subtask === undefined ? null : slotId(job, subtask),
    concurrentExceptions: [],
  }
}

function subtaskOf({ task }: FailureSnapshot): number | undefined {
  const digits = /#(\d+)$/.exec(task ?? '')?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** The newest failure of a job: its time, code and message. */
export interface LastFailure {
  /** Ms since 1970. */
  readonly timestamp: number
  readonly code: string
  readonly message: string
}

/** The newest failure of a job; null for one that has not failed. */
export function lastFailureOf({ failures }: JobSnapshot): LastFailure | null {
  const last = failures.at(-1)
  if (last === undefined) return null
  return { timestamp: last.atMs, code: last.code, message: last.message }
}

/** How often a job was started again. */
export function restartsOf({ attempt }: JobSnapshot): number {
  return Math.max(0, attempt - 1)
}
