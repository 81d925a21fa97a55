import { AGGREGATED_METRICS, METRICS } from './cluster-answers.ts'
import { aggregatedQuery, METRICS_QUERY, type Operation, type Operations } from './operation.ts'
import {
  BACK_PRESSURE,
  FLAME_GRAPH,
  SUBTASK,
  SUBTASK_ACCUMULATORS,
  SUBTASK_TIMES,
  VERTEX_ACCUMULATORS,
  VERTEX_DETAIL,
  VERTEX_TASK_MANAGERS,
  WATERMARKS,
} from './vertex-answers.ts'

const ONE: Operation = { summary: 'A subtask', answer: SUBTASK }
const VERTEX = 'GET /jobs/:jobid/vertices/:vertexid'

/** Operations that describe the vertices of a job. */
export const VERTEX_OPERATIONS: Operations = {
  [VERTEX]: { summary: 'A vertex and its subtasks', answer: VERTEX_DETAIL },
  [`${VERTEX}/subtasktimes`]: { summary: 'Times of the subtasks', answer: SUBTASK_TIMES },
  [`${VERTEX}/taskmanagers`]: { summary: 'The slots of a vertex', answer: VERTEX_TASK_MANAGERS },
  [`${VERTEX}/watermarks`]: { summary: 'Watermarks of the subtasks', answer: WATERMARKS },
  [`${VERTEX}/backpressure`]: { summary: 'Back-pressure', answer: BACK_PRESSURE },
  [`${VERTEX}/accumulators`]: {
    summary: 'Accumulators, merged over the subtasks',
    answer: VERTEX_ACCUMULATORS,
  },
  [`${VERTEX}/subtasks/accumulators`]: {
    summary: 'Accumulators of each subtask',
    answer: SUBTASK_ACCUMULATORS,
  },
  [`${VERTEX}/flamegraph`]: {
    summary: 'What the threads run in 300 ms, from the profiler of V8',
    answer: FLAME_GRAPH,
    errors: [501],
  },
  [`${VERTEX}/metrics`]: {
    summary: 'Metrics of a vertex',
    answer: METRICS,
    query: METRICS_QUERY,
  },
  [`${VERTEX}/subtasks/metrics`]: {
    summary: 'Metrics of subtasks together',
    answer: AGGREGATED_METRICS,
    query: aggregatedQuery('subtasks'),
  },
  [`${VERTEX}/subtasks/:subtaskindex/metrics`]: {
    summary: 'Metrics of a subtask',
    answer: METRICS,
    query: METRICS_QUERY,
  },
  [`${VERTEX}/subtasks/:subtaskindex`]: ONE,
  [`${VERTEX}/subtasks/:subtaskindex/attempts/:attempt`]: ONE,
}
