import { namesOf, type Operation, type Operations } from './operation.ts'
import { ASSIGNMENT, PROCESS_REPORT, REBALANCED } from './scaled-answers.ts'
import { objectOf, type Schema, TEXT } from './schema.ts'
import {
  DIFFERENCE,
  ENTRY,
  HISTORY,
  KEY_GROUPS,
  LEARNING,
  LIVE,
  MODELS,
  RECOMMENDATIONS,
  ROWS,
  SERVED_MODELS,
  STATES,
  SWITCH,
  TOPICS,
  VERSION,
} from './weir-answers.ts'

const JOB = '/weir/jobs/:jobid'

/** Operations on the state and the models of a job: some jobs have none. */
const read = (summary: string, answer: Schema): Operation => ({ summary, answer, errors: [501] })

/** Operations that Flink does not have. */
export const WEIR_OPERATIONS: Operations = {
  [`GET ${JOB}/live`]: { summary: 'Load of the vertices', answer: LIVE },
  [`GET ${JOB}/learning`]: { summary: 'Errors of a job that learns', answer: LEARNING },
  [`GET ${JOB}/history`]: {
    summary: 'Metrics of the last ten minutes',
    answer: HISTORY,
    query: objectOf(
      { metrics: namesOf('full names of metrics, a,b,c') },
      { last: { ...TEXT, pattern: '^[0-9]{1,6}$', description: 'only this many newest samples' } },
    ),
  },
  [`GET ${JOB}/vertices/:vertexid/key-groups`]: {
    summary: 'Records by key group and subtask',
    answer: KEY_GROUPS,
  },
  [`GET ${JOB}/states`]: read('Queryable states', STATES),
  [`GET ${JOB}/states/:name/entry`]: read('The row or value of a key', ENTRY),
  [`GET ${JOB}/states/:name/rows`]: read('Rows or values by page', ROWS),
  [`GET ${JOB}/recommendations`]: read('Items for a user', RECOMMENDATIONS),
  [`GET ${JOB}/topics`]: read('Topics of the sources, and their lag', TOPICS),
  [`GET ${JOB}/served-models`]: {
    summary: 'Models of any kind that the job asks',
    answer: SERVED_MODELS,
  },
  [`GET ${JOB}/models`]: read('Versions of the model', MODELS),
  [`GET ${JOB}/models/:version`]: read('A version', VERSION),
  [`GET ${JOB}/models/diff`]: read('Differences of two versions', DIFFERENCE),
  [`POST ${JOB}/models/:version/promote`]: read('Make a version live', SWITCH),
  [`POST ${JOB}/models/rollback`]: read('Make the previous version live again', SWITCH),
  [`GET ${JOB}/assignment`]: read(
    'Processes of a job in many, and owners of its partitions',
    ASSIGNMENT,
  ),
  [`GET ${JOB}/process`]: read('What this process of a job in many runs', PROCESS_REPORT),
  [`POST ${JOB}/process`]: read('Let this process of a job in many do something', objectOf({})),
  [`POST ${JOB}/rebalance`]: read('Divide partitions again, or drain a process', REBALANCED),
  'GET /weir/events': {
    summary: 'Answers to paths as server-sent events, each now and when it changes',
    type: 'text/event-stream',
    query: objectOf({
      path: {
        type: 'array',
        items: TEXT,
        minItems: 1,
        maxItems: 16,
        description: 'a path that is watched; give the parameter once for each',
      },
    }),
  },
}
