import { EXECUTION_STATES } from '../json/execution-state.ts'
import {
  EMPTY_LIST,
  FLAG,
  ID,
  listOf,
  mapOf,
  NUMBER,
  objectOf,
  orNull,
  recordOf,
  type Schema,
  TASK_STATE,
  TEXT,
  TIME,
  WHOLE,
} from './schema.ts'

/** States of a job. */
const STATUSES = [
  'CREATED',
  'INITIALIZING',
  'RUNNING',
  'FAILING',
  'FAILED',
  'CANCELLING',
  'CANCELED',
  'RESTARTING',
  'FINISHED',
  'SUSPENDED',
] as const

/** State of a job. */
export const JOB_STATE: Schema = { enum: STATUSES }

/** Start, end and duration of a job or of a task. */
export const LIFETIME = { 'start-time': TIME, 'end-time': TIME, duration: WHOLE }

/** Number of tasks by state. */
export const STATE_COUNTS = recordOf(EXECUTION_STATES, WHOLE)

/** Input, output and times of a task. */
export const TASK_IO = objectOf({
  ...Object.fromEntries(
    ['read-bytes', 'write-bytes', 'read-records', 'write-records'].flatMap((name) => [
      [name, NUMBER],
      [`${name}-complete`, FLAG],
    ]),
  ),
  'accumulated-backpressured-time': WHOLE,
  'accumulated-idle-time': WHOLE,
  'accumulated-busy-time': WHOLE,
})

/** `/jobs`. */
export const JOBS = objectOf({ jobs: listOf(objectOf({ id: ID, status: JOB_STATE })) })

/** The newest failure of a job. */
export const LAST_FAILURE: Schema = orNull(objectOf({ timestamp: TIME, code: TEXT, message: TEXT }))

/** `/jobs/overview`. */
export const JOBS_OVERVIEW = objectOf({
  jobs: listOf(
    objectOf({
      jid: ID,
      name: TEXT,
      ...LIFETIME,
      state: JOB_STATE,
      waiting: listOf(TEXT),
      restarts: WHOLE,
      lastFailure: LAST_FAILURE,
      'last-modification': TIME,
      tasks: recordOf(['total', ...EXECUTION_STATES.map((state) => state.toLowerCase())], WHOLE),
    }),
  ),
})

const PLAN = objectOf({
  jid: ID,
  name: TEXT,
  type: { const: 'STREAMING' },
  nodes: listOf(
    objectOf(
      {
        id: ID,
        parallelism: WHOLE,
        operator: TEXT,
        operator_strategy: TEXT,
        description: TEXT,
        optimizer_properties: objectOf({}),
      },
      {
        inputs: listOf(
          objectOf({
            num: WHOLE,
            id: ID,
            ship_strategy: {
              enum: ['FORWARD', 'HASH', 'REBALANCE', 'SHUFFLE', 'GLOBAL', 'CUSTOM', 'BROADCAST'],
            },
            exchange: TEXT,
          }),
        ),
      },
    ),
  ),
})

/** `/jobs/:jobid/plan`. */
export const JOB_PLAN = objectOf({ plan: PLAN })

/** `/jobs/:jobid`. */
export const JOB_DETAIL = objectOf({
  jid: ID,
  name: TEXT,
  isStoppable: FLAG,
  state: JOB_STATE,
  waiting: listOf(TEXT),
  'job-type': { const: 'STREAMING' },
  ...LIFETIME,
  maxParallelism: WHOLE,
  now: TIME,
  timestamps: recordOf(STATUSES, TIME),
  vertices: listOf(
    objectOf({
      id: ID,
      slotSharingGroupId: ID,
      name: TEXT,
      maxParallelism: WHOLE,
      parallelism: WHOLE,
      status: TASK_STATE,
      ...LIFETIME,
      tasks: STATE_COUNTS,
      metrics: TASK_IO,
    }),
  ),
  'status-counts': STATE_COUNTS,
  plan: PLAN,
})

/** `/jobs/:jobid/config`. */
export const JOB_CONFIG = objectOf({
  jid: ID,
  name: TEXT,
  'execution-config': objectOf({
    'execution-mode': TEXT,
    'restart-strategy': TEXT,
    'job-parallelism': WHOLE,
    'object-reuse-mode': FLAG,
    'user-config': mapOf(TEXT),
  }),
})

/** `/jobs/:jobid/status`. */
export const JOB_STATUS = objectOf({ status: JOB_STATE })

/** Accumulators of a job, of a vertex or of a subtask. */
export const USER_ACCUMULATORS = listOf(objectOf({ name: TEXT, type: TEXT, value: TEXT }))

/** `/jobs/:jobid/accumulators`. */
export const ACCUMULATORS = objectOf({
  'job-accumulators': EMPTY_LIST,
  'user-task-accumulators': USER_ACCUMULATORS,
  'serialized-user-task-accumulators': objectOf({}),
})

/** `/jobs/:jobid/execution-result`. */
export const EXECUTION_RESULT = objectOf(
  { status: objectOf({ id: { enum: ['IN_PROGRESS', 'COMPLETED'] } }) },
  {
    'job-execution-result': objectOf({
      id: ID,
      'application-status': { enum: ['SUCCEEDED', 'CANCELED', 'FAILED'] },
      'accumulator-results': objectOf({}),
      'net-runtime': WHOLE,
    }),
  },
)

/** `/jobs/:jobid/exceptions`. */
export const EXCEPTIONS = objectOf({
  'root-exception': orNull(TEXT),
  timestamp: orNull(TIME),
  'all-exceptions': EMPTY_LIST,
  truncated: FLAG,
  exceptionHistory: objectOf({
    truncated: FLAG,
    entries: listOf(
      objectOf({
        exceptionName: TEXT,
        stacktrace: TEXT,
        timestamp: TIME,
        failureLabels: objectOf({}),
        taskName: orNull(TEXT),
        endpoint: orNull(TEXT),
        taskManagerId: orNull(TEXT),
        concurrentExceptions: EMPTY_LIST,
      }),
    ),
  }),
})
