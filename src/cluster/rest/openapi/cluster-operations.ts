import {
  AGGREGATED_METRICS,
  CONFIGURATION,
  DASHBOARD_CONFIG,
  DATA_SETS,
  ENVIRONMENT,
  JARS,
  LIVE,
  LOGS,
  METRICS,
  OVERVIEW,
  READY,
  STARTED,
  TASK_MANAGER,
  TASK_MANAGERS,
  THREAD_DUMP,
} from './cluster-answers.ts'
import { aggregatedQuery, METRICS_QUERY, type Operation, type Operations } from './operation.ts'
import { objectOf } from './schema.ts'

const PLAIN = 'text/plain'
const JAR: Operation = { summary: 'Refused: Weir runs no jar files', errors: [404, 501] }

/** Operations on the JobManager. */
export const CLUSTER_OPERATIONS: Operations = {
  'GET /config': { summary: 'What a dashboard shows', answer: DASHBOARD_CONFIG },
  'GET /overview': { summary: 'Slots and jobs by state', answer: OVERVIEW },
  'GET /health/live': { summary: 'Whether the process lives', answer: LIVE, isPublic: true },
  'GET /health/ready': {
    isPublic: true,
    summary: 'Whether the process can do its work: 503, and why, while it cannot',
    answer: READY,
  },
  'GET /health/startup': {
    isPublic: true,
    summary: 'Whether the process could do its work once: 503, and why, as long as it could not',
    answer: STARTED,
  },
  'GET /datasets': { summary: 'Always empty', answer: DATA_SETS },
  'DELETE /cluster': {
    summary: 'End every job with a checkpoint, then the JobManager',
    answer: objectOf({}),
    errors: [501],
  },
  'GET /jobmanager/config': { summary: 'Configuration', answer: CONFIGURATION },
  'GET /jobmanager/environment': { summary: 'Node and Weir', answer: ENVIRONMENT },
  'GET /jobmanager/thread-dump': { summary: 'Always empty', answer: THREAD_DUMP },
  'GET /jobmanager/metrics': {
    summary: 'Metrics of the process',
    answer: METRICS,
    query: METRICS_QUERY,
  },
  ...logOperations('/jobmanager', 'the JobManager'),
  'GET /metrics': { summary: 'All metrics for Prometheus', type: PLAIN },
  'GET /jars': { summary: 'Always empty', answer: JARS },
  'POST /jars/upload': JAR,
  'DELETE /jars/:jarid': JAR,
  'POST /jars/:jarid/plan': JAR,
  'GET /jars/:jarid/plan': JAR,
  'POST /jars/:jarid/run': JAR,
  'GET /jars/:jarid/run': JAR,
}

/** Operations on slots, each of which is a task manager. */
export const SLOT_OPERATIONS: Operations = {
  'GET /taskmanagers': { summary: 'Slots of running jobs', answer: TASK_MANAGERS },
  'GET /taskmanagers/metrics': {
    summary: 'Metrics of slots together',
    answer: AGGREGATED_METRICS,
    query: aggregatedQuery('taskmanagers'),
  },
  'GET /taskmanagers/:taskmanagerid': { summary: 'A slot', answer: TASK_MANAGER },
  'GET /taskmanagers/:taskmanagerid/metrics': {
    summary: 'Metrics of a slot',
    answer: METRICS,
    query: METRICS_QUERY,
  },
  'GET /taskmanagers/:taskmanagerid/thread-dump': {
    summary: 'Functions that the thread ran in 100 ms',
    answer: THREAD_DUMP,
    errors: [409, 501, 504],
  },
  ...logOperations('/taskmanagers/:taskmanagerid', "the slot's process"),
}

function logOperations(path: string, of: string): Operations {
  const newest = { summary: `Newest log of ${of}`, type: PLAIN, errors: [404] }
  return {
    [`GET ${path}/logs`]: { summary: `Log files of ${of}`, answer: LOGS },
    [`GET ${path}/log`]: newest,
    [`GET ${path}/stdout`]: newest,
    [`GET ${path}/logs/:filename`]: { summary: `A log file of ${of}`, type: PLAIN },
  }
}
