import { EXECUTION_STATES } from '../json/execution-state.ts'
import { LIFETIME, STATE_COUNTS, TASK_IO, USER_ACCUMULATORS } from './job-answers.ts'
import {
  ID,
  listOf,
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

const STATISTICS = recordOf(['min', 'max', 'avg', 'sum', 'median', 'p25', 'p75', 'p95'], NUMBER)
const DURATIONS = ['CREATED', 'SCHEDULED', 'DEPLOYING', 'INITIALIZING', 'RUNNING']
const AGGREGATED = objectOf({
  metrics: recordOf(
    [
      ...['read-bytes', 'write-bytes', 'read-records', 'write-records'],
      ...['backpressured', 'idle', 'busy'].map((name) => `accumulated-${name}-time`),
    ],
    STATISTICS,
  ),
  'status-duration': recordOf(DURATIONS, STATISTICS),
})

/** One subtask: `/jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex`. */
export const SUBTASK = objectOf({
  subtask: WHOLE,
  status: TASK_STATE,
  attempt: WHOLE,
  endpoint: TEXT,
  ...LIFETIME,
  metrics: TASK_IO,
  'taskmanager-id': TEXT,
  'status-duration': recordOf(DURATIONS, WHOLE),
  start_time: TIME,
})

/** A vertex with fields of its own. */
function vertexOf(fields: Readonly<Record<string, Schema>>): Schema {
  return objectOf({ id: ID, name: TEXT, now: TIME, ...fields })
}

/** `/jobs/:jobid/vertices/:vertexid`. */
export const VERTEX_DETAIL = vertexOf({
  parallelism: WHOLE,
  maxParallelism: WHOLE,
  subtasks: listOf(SUBTASK),
  aggregated: AGGREGATED,
})

/** `.../subtasktimes`. */
export const SUBTASK_TIMES = vertexOf({
  subtasks: listOf(
    objectOf({
      subtask: WHOLE,
      endpoint: TEXT,
      duration: WHOLE,
      timestamps: recordOf(EXECUTION_STATES, TIME),
    }),
  ),
})

/** `.../taskmanagers`. */
export const VERTEX_TASK_MANAGERS = vertexOf({
  taskmanagers: listOf(
    objectOf({
      endpoint: TEXT,
      status: TASK_STATE,
      ...LIFETIME,
      metrics: TASK_IO,
      'status-counts': STATE_COUNTS,
      'taskmanager-id': TEXT,
      aggregated: AGGREGATED,
    }),
  ),
})

/** `.../watermarks`. */
export const WATERMARKS = listOf(objectOf({ id: TEXT, value: TEXT }))

const LEVEL: Schema = { enum: ['ok', 'low', 'high', null] }

/** `.../backpressure`. */
export const BACK_PRESSURE = objectOf({
  status: { enum: ['ok', 'deprecated'] },
  backpressureLevel: LEVEL,
  'backpressure-level': LEVEL,
  'end-timestamp': orNull(TIME),
  subtasks: orNull(
    listOf(
      objectOf({
        subtask: WHOLE,
        'attempt-number': WHOLE,
        backpressureLevel: LEVEL,
        'backpressure-level': LEVEL,
        ratio: NUMBER,
        idleRatio: NUMBER,
        busyRatio: NUMBER,
        'other-concurrent-attempts': { type: 'null' },
      }),
    ),
  ),
})

/** `.../accumulators`. */
export const VERTEX_ACCUMULATORS = objectOf({ id: ID, 'user-accumulators': USER_ACCUMULATORS })

/** `.../subtasks/accumulators`. */
export const SUBTASK_ACCUMULATORS = objectOf({
  id: ID,
  parallelism: WHOLE,
  subtasks: listOf(
    objectOf({
      subtask: WHOLE,
      attempt: WHOLE,
      endpoint: TEXT,
      'user-accumulators': USER_ACCUMULATORS,
    }),
  ),
})

/** `.../flamegraph`. */
export const FLAME_GRAPH = objectOf({ endTimestamp: TIME, data: { $ref: 'FlameNode#' } })

/** A node of a flame graph, which has further nodes. */
export const FLAME_NODE = objectOf({
  name: TEXT,
  value: WHOLE,
  children: listOf({ $ref: 'FlameNode#' }),
})
