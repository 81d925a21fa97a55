import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import { learns } from './learning.ts'
import { shareOfSecond, subtasksOf, taskMetrics } from './task-metrics.ts'

/** Load of one vertex at the moment of a snapshot. */
export interface VertexLoad {
  readonly id: string
  /** First part of the names of its metrics. */
  readonly uid: string
  /** Share of time, 0 to 1, of the subtask with the largest share. */
  readonly busy: number
  readonly backPressured: number
  /** Share of time of the subtask that waits least for input. */
  readonly idle: number
  /** Records a second, all subtasks together. */
  readonly recordsInPerSecond: number
  readonly recordsOutPerSecond: number
  /** Whether the code fixes its parallelism. */
  readonly hasOwnParallelism: boolean
}

/** `/weir/jobs/:jobid/live`: what the job has, and how busy and back-pressured its vertices are. */
export function liveJson(job: JobSnapshot): object {
  return {
    now: job.nowMs,
    state: job.status,
    restarts: Math.max(0, job.attempt - 1),
    failures: job.failures.length,
    takesCheckpoints: job.checkpoints !== undefined,
    learns: learns(job),
    parallelism: job.parallelism,
    vertices: job.vertices.map((vertex) => vertexLoad(job, vertex)),
  }
}

function vertexLoad(job: JobSnapshot, vertex: VertexSnapshot): VertexLoad {
  const subtasks = subtasksOf(vertex)
  const shares = (name: string): readonly number[] =>
    subtasks.map((i) => shareOfSecond(taskMetrics(job, vertex, i)(name)))
  const sum = (name: string): number =>
    subtasks.reduce((total, i) => total + taskMetrics(job, vertex, i)(name), 0)
  return {
    id: vertex.id,
    uid: vertex.uid,
    busy: Math.max(0, ...shares('busyTimeMsPerSecond')),
    backPressured: Math.max(0, ...shares('backPressuredTimeMsPerSecond')),
    idle: Math.min(1, ...shares('idleTimeMsPerSecond')),
    recordsInPerSecond: sum('numRecordsInPerSecond'),
    hasOwnParallelism: vertex.hasOwnParallelism === true,
    recordsOutPerSecond: vertex.operators
      .filter(({ hasOutput }) => hasOutput)
      .reduce(
        (total, { uid }) =>
          total + sum(`${uid === vertex.uid ? '' : `${uid}.`}numRecordsOutPerSecond`),
        0,
      ),
  }
}
