import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import { shareOfSecond, subtasksOf, taskMetrics } from './task-metrics.ts'

/** Flink's levels of back-pressure: up to 10 % of the time, up to 50 %, and above. */
function backPressureLevel(ratio: number): 'ok' | 'low' | 'high' {
  if (ratio <= 0.1) return 'ok'
  return ratio <= 0.5 ? 'low' : 'high'
}

/** `/jobs/:jobid/vertices/:vertexid/backpressure`. */
export function backPressureJson(job: JobSnapshot, vertex: VertexSnapshot): object {
  if (job.status !== 'RUNNING') {
    return {
      status: 'deprecated',
      'backpressure-level': null,
      backpressureLevel: null,
      'end-timestamp': null,
      subtasks: null,
    }
  }
  const subtasks = subtasksOf(vertex).map((subtask) => subtaskJson(job, vertex, subtask))
  const level = backPressureLevel(Math.max(0, ...subtasks.map(({ ratio }) => ratio)))
  return {
    status: 'ok',
    backpressureLevel: level,
    'backpressure-level': level,
    'end-timestamp': job.nowMs,
    subtasks,
  }
}

function subtaskJson(job: JobSnapshot, vertex: VertexSnapshot, subtask: number) {
  const read = taskMetrics(job, vertex, subtask)
  const share = (name: string): number => shareOfSecond(read(name))
  const ratio = share('backPressuredTimeMsPerSecond')
  const level = backPressureLevel(ratio)
  return {
    subtask,
    'attempt-number': Math.max(0, job.attempt - 1),
    backpressureLevel: level,
    'backpressure-level': level,
    ratio,
    idleRatio: share('idleTimeMsPerSecond'),
    busyRatio: share('busyTimeMsPerSecond'),
    'other-concurrent-attempts': null,
  }
}
