import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import { lastFailureOf, restartsOf } from './exceptions.ts'
import { executionStateOf, stateCounts, taskCounts } from './execution-state.ts'
import { lastModifiedOf, lifetimeOf, taskLifetimeOf, timestampsOf } from './lifetime.ts'
import { planJson } from './plan.ts'
import { vertexIo } from './task-metrics.ts'
import { waitingFor } from './waiting.ts'

/** One row of `/jobs/overview`. */
export function jobOverviewJson(job: JobSnapshot): object {
  return {
    jid: job.id,
    name: job.name,
    ...lifetimeOf(job),
    state: job.status,
    waiting: waitingFor(job),
    restarts: restartsOf(job),
    lastFailure: lastFailureOf(job),
    'last-modification': lastModifiedOf(job),
    tasks: taskCounts(executionStateOf(job.status), tasksOf(job)),
  }
}

/** `/jobs/:jobid`. */
export function jobDetailJson(job: JobSnapshot): object {
  return {
    jid: job.id,
    name: job.name,
    isStoppable: false,
    state: job.status,
    waiting: waitingFor(job),
    'job-type': 'STREAMING',
    ...lifetimeOf(job),
    maxParallelism: Math.max(-1, ...job.vertices.map(({ maxParallelism }) => maxParallelism)),
    now: job.nowMs,
    timestamps: timestampsOf(job),
    vertices: job.vertices.map((vertex) => vertexJson(job, vertex)),
    'status-counts': stateCounts(executionStateOf(job.status), job.vertices.length),
    plan: planJson(job),
  }
}

function vertexJson(job: JobSnapshot, vertex: VertexSnapshot): object {
  const state = executionStateOf(job.status)
  return {
    id: vertex.id,
    slotSharingGroupId: job.id,
    name: vertex.name,
    maxParallelism: vertex.maxParallelism,
    parallelism: vertex.parallelism,
    status: state,
    ...taskLifetimeOf(job),
    tasks: stateCounts(state, vertex.parallelism),
    metrics: vertexIo(job, vertex),
  }
}

/** `/jobs/:jobid/config`. */
export function jobConfigJson(job: JobSnapshot): object {
  return {
    jid: job.id,
    name: job.name,
    'execution-config': {
      'execution-mode': 'PIPELINED',
      'restart-strategy': job.restartStrategy,
      'job-parallelism': job.parallelism,
      'object-reuse-mode': job.configuration['pipeline.object-reuse'] === 'true',
      'user-config': job.configuration,
    },
  }
}

/** `/jobs/:jobid/accumulators`. Flink's serialized values are Java objects: there are none. */
export function accumulatorsJson({ accumulators }: JobSnapshot): object {
  return {
    'job-accumulators': [],
    'user-task-accumulators': accumulators?.job ?? [],
    'serialized-user-task-accumulators': {},
  }
}

const RESULT_OF: Readonly<Record<string, string>> = {
  FINISHED: 'SUCCEEDED',
  CANCELED: 'CANCELED',
  FAILED: 'FAILED',
}

/** `/jobs/:jobid/execution-result`. */
export function executionResultJson(job: JobSnapshot): object {
  const applicationStatus = RESULT_OF[job.status]
  if (applicationStatus === undefined) return { status: { id: 'IN_PROGRESS' } }
  return {
    status: { id: 'COMPLETED' },
    'job-execution-result': {
      id: job.id,
      'application-status': applicationStatus,
      'accumulator-results': {},
      'net-runtime': lifetimeOf(job).duration,
    },
  }
}

function tasksOf({ vertices }: JobSnapshot): number {
  return vertices.reduce((sum, { parallelism }) => sum + parallelism, 0)
}
