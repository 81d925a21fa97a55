import type { Clock } from '../../../core/clock.ts'
import type { JobExecution } from '../../../runtime/job/execution.ts'
import { isTerminal } from '../../../runtime/job/status.ts'
import { executionSnapshot, verticesOf } from '../../rest/job/execution-snapshot.ts'
import { processSnapshot } from '../../rest/job/process-snapshot.ts'
import type { JobSnapshot } from '../../rest/port/job-snapshot.ts'
import type { PartitionReport, PartitionState, ProcessReport } from '../../rest/port/scaled-job.ts'
import { phaseOf } from '../decisions/member-state.ts'
import { asPartition, mergedJob } from './merged-job.ts'
import type { Membership, OperatedProcess } from './operated-process.ts'

/** What a report has from elsewhere than the process. */
export interface ReportedJob {
  readonly jobId: string
  /** Name of the job: `application.id`. */
  readonly name: string
  readonly partitions: number
  readonly configuration: Readonly<Record<string, string>>
  readonly version: string
  /** Slot threads of the process. */
  readonly slots: number
  readonly startedMs: number
}

/** The report of a process about itself. */
export async function reportOf(
  process: OperatedProcess,
  job: ReportedJob,
  { rest, clock }: { readonly rest: string; readonly clock: Clock },
): Promise<ProcessReport> {
  const { membership, executions } = process
  const { memberId, isLeader, isDraining, self, state } = membership
  const nowMs = clock.nowMs()
  const parts = await Promise.all(
    [...executions].map(async ([partition, execution]) =>
      asPartition(await snapshotOf(execution, job, nowMs), partition, job.partitions),
    ),
  )
  return {
    member: memberId,
    place: self ?? null,
    generation: state.generation ?? null,
    phase: phaseOf(state),
    isLeader,
    isDraining: isDraining || state.isLeaving,
    version: job.version,
    slots: job.slots,
    rest,
    partitions: partitionsOf(membership, executions, nowMs),
    job: mergedJob(emptyJob(job, nowMs), parts),
  }
}

/** The snapshot of a job of which no part is known. */
export function emptyJob(job: ReportedJob, nowMs: number): JobSnapshot {
  return {
    id: job.jobId,
    name: job.name,
    status: 'INITIALIZING',
    timestamps: { CREATED: job.startedMs, INITIALIZING: job.startedMs },
    nowMs,
    attempt: 1,
    parallelism: job.partitions,
    vertices: [],
    slots: [],
    metrics: {},
    failures: [],
    checkpoints: undefined,
    waits: [],
    configuration: job.configuration,
    restartStrategy: 'each job partition restarts alone',
    process: processSnapshot(),
  }
}

async function snapshotOf(
  execution: JobExecution,
  { configuration }: ReportedJob,
  nowMs: number,
): Promise<JobSnapshot> {
  const metrics = isTerminal(execution.status) ? {} : await execution.metrics()
  return executionSnapshot(execution, {
    ...{ metrics, configuration, nowMs, queryPort: undefined },
    vertices: verticesOf(execution.plan),
  })
}

/** All partitions that the process has in its hands, those too that are about to start. */
function partitionsOf(
  { state }: Membership,
  executions: ReadonlyMap<number, JobExecution>,
  nowMs: number,
): PartitionReport[] {
  const all = new Set([...state.running, ...state.releasing, ...executions.keys()])
  return [...all]
    .toSorted((a, b) => a - b)
    .map((partition) => {
      const execution = executions.get(partition)
      const newest = newestCheckpoint(execution)
      return {
        partition,
        state: state.releasing.has(partition) ? 'handing over' : stateOf(execution),
        checkpointId: newest?.id ?? null,
        checkpointAgeMs: newest === undefined ? null : Math.max(0, nowMs - newest.atMs),
      }
    })
}

function stateOf(execution: JobExecution | undefined): PartitionState {
  switch (execution?.status) {
    case 'RUNNING':
      return 'running'
    case 'RESTARTING':
    case 'FAILING':
      return 'restarting'
    default:
      return 'restoring'
  }
}

function newestCheckpoint(execution: JobExecution | undefined) {
  const newest = execution?.checkpointStatistics
    ?.recent()
    .find(({ status }) => status === 'COMPLETED')
  return newest === undefined ? undefined : { id: newest.id, atMs: newest.trigger_timestamp }
}
