import { MIN_TIMESTAMP } from '../../../core/time.ts'
import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import { lastFailureOf, restartsOf } from './exceptions.ts'
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
  /** The least watermark of its subtasks, ms since 1970; null before the first one of any. */
  readonly watermark: number | null
  /** Subtasks without a watermark. */
  readonly withoutWatermark: number
  /** Whether the code fixes its parallelism. */
  readonly hasOwnParallelism: boolean
}

/** `/weir/jobs/:jobid/live`: what the job has, and how busy and back-pressured its vertices are. */
export function liveJson(job: JobSnapshot): object {
  return {
    now: job.nowMs,
    state: job.status,
    restarts: restartsOf(job),
    failures: job.failures.length,
    lastFailure: lastFailureOf(job),
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
  const watermarks = subtasks
    .map((i) => job.metrics[`${vertex.uid}.${i}.currentOutputWatermark`] ?? MIN_TIMESTAMP)
    .filter((watermark) => watermark > MIN_TIMESTAMP)
  return {
    id: vertex.id,
    uid: vertex.uid,
    busy: Math.max(0, ...shares('busyTimeMsPerSecond')),
    backPressured: Math.max(0, ...shares('backPressuredTimeMsPerSecond')),
    idle: Math.min(1, ...shares('idleTimeMsPerSecond')),
    recordsInPerSecond: sum('numRecordsInPerSecond'),
    watermark: watermarks.length === 0 ? null : Math.min(...watermarks),
    withoutWatermark: subtasks.length - watermarks.length,
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
