import {
  CHECKPOINT,
  CHECKPOINT_CONFIG,
  CHECKPOINT_VERTEX,
  CHECKPOINTS,
} from './checkpoint-answers.ts'
import { AGGREGATED_METRICS, METRICS } from './cluster-answers.ts'
import {
  ACCUMULATORS,
  EXCEPTIONS,
  EXECUTION_RESULT,
  JOB_CONFIG,
  JOB_DETAIL,
  JOB_PLAN,
  JOB_STATUS,
  JOBS,
  JOBS_OVERVIEW,
} from './job-answers.ts'
import { aggregatedQuery, METRICS_QUERY, type Operation, type Operations } from './operation.ts'
import { ID, mapOf, objectOf, type Schema, TEXT, WHOLE } from './schema.ts'

const ACCEPTED = { answer: objectOf({ 'request-id': ID }), status: 202 }
const DISPOSAL: Operation = {
  summary: 'Refused: a savepoint is a folder to delete',
  errors: [404, 501],
}

/** The state of an operation that was triggered, and what it has made or why it failed. */
function operationState(made: Readonly<Record<string, Schema>>): Schema {
  const cause = objectOf({ class: TEXT, 'stack-trace': TEXT, 'serialized-throwable': TEXT })
  return objectOf({
    status: objectOf({ id: { enum: ['IN_PROGRESS', 'COMPLETED'] } }),
    operation: {
      anyOf: [objectOf(made), objectOf({ 'failure-cause': cause }), { type: 'null' }],
    },
  })
}

/** Operations that describe jobs. */
export const JOB_OPERATIONS: Operations = {
  'GET /jobs': { summary: 'Ids and states of all jobs', answer: JOBS },
  'GET /jobs/overview': { summary: 'All jobs', answer: JOBS_OVERVIEW },
  'GET /jobs/metrics': {
    summary: 'Metrics of jobs together',
    answer: AGGREGATED_METRICS,
    query: aggregatedQuery('jobs'),
  },
  'GET /jobs/:jobid': { summary: 'A job', answer: JOB_DETAIL },
  'GET /jobs/:jobid/plan': { summary: 'The graph', answer: JOB_PLAN },
  'GET /jobs/:jobid/config': { summary: 'The configuration', answer: JOB_CONFIG },
  'GET /jobs/:jobid/status': { summary: 'The state', answer: JOB_STATUS },
  'GET /jobs/:jobid/execution-result': { summary: 'How it ended', answer: EXECUTION_RESULT },
  'GET /jobs/:jobid/accumulators': {
    summary: 'Accumulators, merged over all tasks',
    answer: ACCUMULATORS,
  },
  'GET /jobs/:jobid/metrics': {
    summary: 'Metrics of the job itself',
    answer: METRICS,
    query: METRICS_QUERY,
  },
  'GET /jobs/:jobid/exceptions': { summary: 'Failures, newest first', answer: EXCEPTIONS },
  'GET /jobs/:jobid/checkpoints': { summary: 'Checkpoints', answer: CHECKPOINTS },
  'GET /jobs/:jobid/checkpoints/config': {
    summary: 'Settings of checkpoints',
    answer: CHECKPOINT_CONFIG,
  },
  'GET /jobs/:jobid/checkpoints/details/:checkpointid': {
    summary: 'One of the last checkpoints',
    answer: CHECKPOINT,
  },
  'GET /jobs/:jobid/checkpoints/details/:checkpointid/subtasks/:vertexid': {
    summary: 'The part of a vertex in a checkpoint',
    answer: CHECKPOINT_VERTEX,
  },
}

/** Operations that change jobs. */
export const CHANGE_OPERATIONS: Operations = {
  'POST /jobs': {
    summary: 'Submit a job by its name or the path of a module',
    answer: objectOf({ jobid: ID }),
    status: 202,
    errors: [404, 409, 501, 504],
  },
  'PATCH /jobs/:jobid': {
    summary: 'Cancel a job',
    answer: objectOf({}),
    status: 202,
    query: objectOf({}, { mode: { enum: ['cancel'] } }),
  },
  'POST /jobs/:jobid/savepoints': {
    summary: 'Take a savepoint; with cancel-job end the job after it',
    ...ACCEPTED,
  },
  'GET /jobs/:jobid/savepoints/:triggerid': {
    summary: 'What became of a savepoint or a stop',
    answer: operationState({ location: TEXT }),
  },
  'POST /jobs/:jobid/stop': { summary: 'Take a savepoint and end the job', ...ACCEPTED },
  'POST /jobs/:jobid/checkpoints': { summary: 'Take a checkpoint', ...ACCEPTED },
  'GET /jobs/:jobid/checkpoints/:triggerid': {
    summary: 'What became of a checkpoint that was asked for',
    answer: operationState({ checkpointId: WHOLE }),
  },
  'PATCH /jobs/:jobid/rescaling': {
    summary: 'Let a job go on from a checkpoint with another parallelism',
    answer: objectOf({ 'request-id': ID }),
  },
  'GET /jobs/:jobid/rescaling/:triggerid': {
    summary: 'What became of a rescaling',
    answer: operationState({}),
  },
  'GET /jobs/:jobid/resource-requirements': {
    summary: 'Parallelism of each vertex',
    answer: mapOf(objectOf({ parallelism: objectOf({ lowerBound: WHOLE, upperBound: WHOLE }) })),
  },
  'PUT /jobs/:jobid/resource-requirements': {
    summary: 'Let a job go on from a checkpoint with the upper bounds as its parallelism',
    answer: objectOf({}),
    errors: [501],
  },
  'POST /savepoint-disposal': DISPOSAL,
  'GET /savepoint-disposal/:triggerid': DISPOSAL,
}
