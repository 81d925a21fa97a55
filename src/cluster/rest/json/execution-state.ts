import type { JobStatus } from '../../../runtime/job/status.ts'

/** States of a task, Flink's names in Flink's order. */
export const EXECUTION_STATES = [
  'CREATED',
  'SCHEDULED',
  'DEPLOYING',
  'RUNNING',
  'FINISHED',
  'CANCELING',
  'CANCELED',
  'FAILED',
  'RECONCILING',
  'INITIALIZING',
] as const

/** A state of a task. */
export type ExecutionState = (typeof EXECUTION_STATES)[number]

const STATE_OF: Readonly<Record<JobStatus, ExecutionState>> = {
  CREATED: 'CREATED',
  INITIALIZING: 'INITIALIZING',
  RUNNING: 'RUNNING',
  FAILING: 'CANCELING',
  FAILED: 'FAILED',
  CANCELLING: 'CANCELING',
  CANCELED: 'CANCELED',
  RESTARTING: 'SCHEDULED',
  FINISHED: 'FINISHED',
  SUSPENDED: 'CANCELED',
}

/** The state of every task of a job in this state: the slots deploy, run and end together. */
export function executionStateOf(status: JobStatus): ExecutionState {
  return STATE_OF[status]
}

/** Number of tasks by state, with a zero for each state that no task has. */
export function stateCounts(state: ExecutionState, tasks: number): Record<ExecutionState, number> {
  const counts = Object.fromEntries(EXECUTION_STATES.map((name) => [name, 0]))
  return { ...counts, [state]: tasks } as Record<ExecutionState, number>
}

/** As `stateCounts`, with names in small letters, as Flink's overview of jobs has them. */
export function taskCounts(state: ExecutionState, tasks: number): Record<string, number> {
  const counts = Object.entries(stateCounts(state, tasks))
  return { total: tasks, ...Object.fromEntries(counts.map(([name, n]) => [name.toLowerCase(), n])) }
}
