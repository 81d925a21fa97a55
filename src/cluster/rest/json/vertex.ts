import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import { EXECUTION_STATES, executionStateOf, stateCounts } from './execution-state.ts'
import { taskLifetimeOf } from './lifetime.ts'
import { statisticsOf } from './statistics.ts'
import { slotId } from './task-managers.ts'
import { type IoMetrics, subtaskIo, subtasksOf, taskMetrics } from './task-metrics.ts'

/** `/jobs/:jobid/vertices/:vertexid`. */
export function vertexDetailJson(job: JobSnapshot, vertex: VertexSnapshot): object {
  return {
    id: vertex.id,
    name: vertex.name,
    parallelism: vertex.parallelism,
    maxParallelism: vertex.maxParallelism,
    now: job.nowMs,
    subtasks: subtasksOf(vertex).map((subtask) => subtaskJson(job, vertex, subtask)),
    aggregated: aggregatedJson(job, vertex, subtasksOf(vertex)),
  }
}

/** `/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex`, and of its attempt. */
export function subtaskJson(job: JobSnapshot, vertex: VertexSnapshot, subtask: number): object {
  const lifetime = taskLifetimeOf(job)
  return {
    subtask,
    status: executionStateOf(job.status),
    attempt: Math.max(0, job.attempt - 1),
    endpoint: endpointOf(job),
    ...lifetime,
    metrics: subtaskIo(job, vertex, subtask),
    'taskmanager-id': slotId(job, subtask),
    'status-duration': statusDurations(job),
    start_time: lifetime['start-time'],
  }
}

/** `/jobs/:jobid/vertices/:vertexid/subtasktimes`. */
export function subtaskTimesJson(job: JobSnapshot, vertex: VertexSnapshot): object {
  const { duration } = taskLifetimeOf(job)
  return {
    id: vertex.id,
    name: vertex.name,
    now: job.nowMs,
    subtasks: subtasksOf(vertex).map((subtask) => ({
      subtask,
      endpoint: endpointOf(job),
      duration,
      timestamps: taskTimestamps(job),
    })),
  }
}

/** `/jobs/:jobid/vertices/:vertexid/taskmanagers`. */
export function vertexTaskManagersJson(job: JobSnapshot, vertex: VertexSnapshot): object {
  const state = executionStateOf(job.status)
  return {
    id: vertex.id,
    name: vertex.name,
    now: job.nowMs,
    taskmanagers: subtasksOf(vertex).map((subtask) => ({
      endpoint: endpointOf(job),
      status: state,
      ...taskLifetimeOf(job),
      metrics: subtaskIo(job, vertex, subtask),
      'status-counts': stateCounts(state, 1),
      'taskmanager-id': slotId(job, subtask),
      aggregated: aggregatedJson(job, vertex, [subtask]),
    })),
  }
}

/** `/jobs/:jobid/vertices/:vertexid/watermarks`. */
export function watermarksJson(job: JobSnapshot, vertex: VertexSnapshot): object {
  return subtasksOf(vertex).map((subtask) => ({
    id: `${subtask}.currentInputWatermark`,
    value: watermarkText(taskMetrics(job, vertex, subtask)('currentInputWatermark')),
  }))
}

/** A watermark as text; Flink's number for a subtask that has none yet is the least of Java. */
function watermarkText(watermark: number): string {
  return watermark === Number.MIN_SAFE_INTEGER ? '-9223372036854775808' : String(watermark)
}

/** `/jobs/:jobid/vertices/:vertexid/accumulators`. */
export function vertexAccumulatorsJson(job: JobSnapshot, vertex: VertexSnapshot): object {
  return { id: vertex.id, 'user-accumulators': accumulatorsOf(job, vertex)?.accumulators ?? [] }
}

/** `/jobs/:jobid/vertices/:vertexid/subtasks/accumulators`. */
export function subtaskAccumulatorsJson(job: JobSnapshot, vertex: VertexSnapshot): object {
  const found = accumulatorsOf(job, vertex)?.subtasks ?? []
  const ofSubtask = new Map(found.map((each) => [each.subtask, each.accumulators]))
  return {
    id: vertex.id,
    parallelism: vertex.parallelism,
    subtasks: subtasksOf(vertex).map((subtask) => ({
      subtask,
      attempt: Math.max(0, job.attempt - 1),
      endpoint: endpointOf(job),
      'user-accumulators': ofSubtask.get(subtask) ?? [],
    })),
  }
}

function accumulatorsOf({ accumulators }: JobSnapshot, { uid }: VertexSnapshot) {
  return accumulators?.vertices.find((vertex) => vertex.uid === uid)
}

function endpointOf({ process: { host, pid } }: JobSnapshot): string {
  return `${host}:${pid}`
}

function aggregatedJson(
  job: JobSnapshot,
  vertex: VertexSnapshot,
  subtasks: readonly number[],
): object {
  const all = subtasks.map((subtask) => subtaskIo(job, vertex, subtask))
  const names = Object.keys(all[0] ?? {}).filter((name) => !name.endsWith('-complete'))
  const metrics = names.map((name) => [
    name,
    statisticsOf(all.map((io) => Number(io[name as keyof IoMetrics]))),
  ])
  const durations = Object.entries(statusDurations(job)).map(([state, ms]) => [
    state,
    statisticsOf(subtasks.map(() => ms)),
  ])
  return { metrics: Object.fromEntries(metrics), 'status-duration': Object.fromEntries(durations) }
}

/** Time that a task of the present attempt was in each of the states that lead to RUNNING. */
function statusDurations(job: JobSnapshot): Record<string, number> {
  const start = taskLifetimeOf(job)['start-time']
  const running = runningSince(job)
  const end = taskLifetimeOf(job)['end-time']
  const last = end < 0 ? job.nowMs : end
  return {
    CREATED: 0,
    SCHEDULED: 0,
    DEPLOYING: 0,
    INITIALIZING: start < 0 ? -1 : (running ?? last) - start,
    RUNNING: running === undefined ? -1 : last - running,
  }
}

/** When the present attempt began to run; undefined before. */
function runningSince(job: JobSnapshot): number | undefined {
  const { RUNNING: running } = job.timestamps
  return running !== undefined && running >= taskLifetimeOf(job)['start-time'] ? running : undefined
}

function taskTimestamps(job: JobSnapshot): Record<string, number> {
  const { 'start-time': start, 'end-time': end } = taskLifetimeOf(job)
  const known: Record<string, number> = {
    CREATED: start,
    SCHEDULED: start,
    DEPLOYING: start,
    INITIALIZING: start,
    RUNNING: runningSince(job) ?? 0,
    ...(end < 0 ? {} : { [executionStateOf(job.status)]: end }),
  }
  return Object.fromEntries(EXECUTION_STATES.map((state) => [state, known[state] ?? 0]))
}
