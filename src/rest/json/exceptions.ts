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
