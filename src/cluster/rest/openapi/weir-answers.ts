import { JOB_STATE, LAST_FAILURE } from './job-answers.ts'
import {
  FLAG,
  ID,
  listOf,
  mapOf,
  NUMBER,
  objectOf,
  orNull,
  recordOf,
  type Schema,
  TEXT,
  TIME,
  WHOLE,
} from './schema.ts'

const NUMBER_OR_NULL = orNull(NUMBER)

/** `/weir/jobs/:jobid/live`. */
export const LIVE = objectOf({
  now: TIME,
  state: JOB_STATE,
  restarts: WHOLE,
  failures: WHOLE,
  lastFailure: LAST_FAILURE,
  takesCheckpoints: FLAG,
  learns: FLAG,
  parallelism: WHOLE,
  vertices: listOf(
    objectOf({
      id: ID,
      uid: TEXT,
      hasOwnParallelism: FLAG,
      watermark: orNull(TIME),
      withoutWatermark: WHOLE,
      ...Object.fromEntries(
        ['busy', 'backPressured', 'idle', 'recordsInPerSecond', 'recordsOutPerSecond'].map(
          (name) => [name, NUMBER],
        ),
      ),
    }),
  ),
})

/** `/weir/jobs/:jobid/learning`. */
export const LEARNING = objectOf({
  now: TIME,
  kind: { enum: ['ratings', 'examples', null] },
  version: NUMBER_OR_NULL,
  learned: NUMBER,
  refused: NUMBER,
  driftAlarms: NUMBER_OR_NULL,
  isStopped: FLAG,
  freshnessMs: NUMBER_OR_NULL,
  visibleMedianMs: NUMBER_OR_NULL,
  visibleMaxMs: NUMBER_OR_NULL,
  means: mapOf(NUMBER_OR_NULL),
  subtasks: listOf(
    objectOf({ name: TEXT, version: NUMBER_OR_NULL, learned: NUMBER, error: NUMBER_OR_NULL }),
  ),
})

/** `/weir/jobs/:jobid/history`. */
export const HISTORY = objectOf({
  everyMs: WHOLE,
  times: listOf(TIME),
  series: listOf(objectOf({ metric: TEXT, values: listOf(NUMBER_OR_NULL) })),
})

/** `/weir/jobs/:jobid/vertices/:vertexid/key-groups`. */
export const KEY_GROUPS = objectOf({
  isKeyed: FLAG,
  maxParallelism: WHOLE,
  records: NUMBER,
  subtaskSkew: NUMBER,
  keyGroupSkew: NUMBER,
  hottest: orNull(objectOf({ keyGroup: WHOLE, share: NUMBER })),
  subtasks: listOf(objectOf({ subtask: WHOLE, first: WHOLE, last: WHOLE, records: NUMBER })),
  groupsPerBar: WHOLE,
  bars: listOf(NUMBER),
})

const ENVELOPE = objectOf(
  {
    ...recordFields(['modelVersion', 'partition', 'offset', 'checkpointId'], WHOLE),
    ageMs: NUMBER,
    servedBy: TEXT,
  },
  { source: WHOLE },
)

/** `/weir/jobs/:jobid/states`. */
export const STATES = objectOf({
  states: listOf(
    objectOf({
      name: TEXT,
      kind: TEXT,
      dimension: WHOLE,
      versions: listOf(WHOLE),
      liveVersion: WHOLE,
    }),
  ),
})

/** Floats of a row, or the value of typed state as JSON. */
const VALUE: Schema = { description: 'floats of a row, or the value as JSON' }

/** `/weir/jobs/:jobid/states/:name/entry`. */
export const ENTRY = objectOf({
  key: TEXT,
  value: VALUE,
  envelope: ENVELOPE,
  slot: orNull(WHOLE),
})

/** `/weir/jobs/:jobid/states/:name/rows`. */
export const ROWS = objectOf({
  rows: listOf(objectOf({ key: TEXT, value: VALUE })),
  next: orNull(TEXT),
})

/** `/weir/jobs/:jobid/recommendations`. */
export const RECOMMENDATIONS = objectOf({
  user: TEXT,
  isUserKnown: FLAG,
  modelVersion: WHOLE,
  items: listOf(objectOf({ item: TEXT, score: NUMBER }, { title: TEXT })),
  envelope: ENVELOPE,
})

/** `/weir/jobs/:jobid/topics`. */
export const TOPICS = objectOf({
  sources: listOf(
    objectOf({
      uid: TEXT,
      name: TEXT,
      topic: TEXT,
      lag: orNull(WHOLE),
      partitions: listOf(
        objectOf({
          partition: WHOLE,
          start: WHOLE,
          end: WHOLE,
          position: orNull(WHOLE),
          lag: orNull(WHOLE),
        }),
      ),
    }),
  ),
})

const RANGE = objectOf({ topic: TEXT, partition: WHOLE, from: WHOLE, to: WHOLE })
const LINEAGE = objectOf(
  {
    ranges: listOf(RANGE),
    files: listOf(objectOf({ file: TEXT, sha256: TEXT })),
    code: TEXT,
    hyperparameters: mapOf({ type: ['string', 'number', 'boolean'] }),
    metrics: mapOf(NUMBER_OR_NULL),
    newestEventMs: TIME,
  },
  { checkpoint: TEXT, parent: TEXT, replayed: listOf(RANGE) },
)

const CHECK = objectOf({
  check: TEXT,
  passed: FLAG,
  atMs: TIME,
  against: WHOLE,
  subject: TEXT,
  measures: listOf(
    objectOf({
      name: TEXT,
      value: NUMBER_OR_NULL,
      bound: NUMBER_OR_NULL,
      relation: { enum: ['<=', '>='] },
      passed: FLAG,
    }),
  ),
})

/** `/weir/jobs/:jobid/models/:version`. A version that only the job has, without the registry, has few fields. */
export const VERSION = objectOf(
  {
    number: WHOLE,
    state: {
      enum: [
        ...['candidate', 'live', 'replaced', 'retired', 'unregistered'],
        ...['publishing', 'incomplete'],
      ],
    },
    isLoaded: FLAG,
    isServing: FLAG,
  },
  {
    ...recordFields(['name', 'processingName', 'id', 'topic'], TEXT),
    createdMs: TIME,
    ...recordFields(['dimension', 'users', 'items'], WHOLE),
    biased: FLAG,
    lineage: LINEAGE,
    errorAtStart: NUMBER,
    checks: listOf(CHECK),
    notes: listOf(objectOf({ atMs: TIME, event: TEXT }, { text: TEXT })),
  },
)

/** `/weir/jobs/:jobid/models`. */
export const MODELS = objectOf({
  model: TEXT,
  state: TEXT,
  ...recordFields(['live', 'serving', 'rollback', 'revision'], WHOLE),
  versions: listOf(VERSION),
})

const VERSION_STATE: Schema = { enum: ['READY', 'LOADING', 'UNAVAILABLE'] }

/** `/weir/jobs/:jobid/served-models`. */
export const SERVED_MODELS = objectOf({
  models: listOf(
    objectOf({
      ...recordFields(['name', 'kind', 'reason'], TEXT),
      state: VERSION_STATE,
      liveVersion: WHOLE,
      versions: listOf(objectOf({ version: WHOLE, state: VERSION_STATE, reason: TEXT })),
      aliases: mapOf(WHOLE),
      revision: WHOLE,
      problems: listOf(TEXT),
      settings: orNull(
        objectOf({
          rule: TEXT,
          sloMs: NUMBER,
          ...recordFields(['maxBatchItems', 'workers', 'cacheBytes'], WHOLE),
        }),
      ),
      statistics: mapOf(NUMBER),
    }),
  ),
})

/** `/weir/jobs/:jobid/models/diff`. */
export const DIFFERENCE = objectOf({
  a: WHOLE,
  b: WHOLE,
  differences: listOf(recordOf(['field', 'left', 'right'], TEXT)),
  lists: orNull(
    objectOf(
      {
        users: WHOLE,
        overlap: NUMBER_OR_NULL,
        rise: NUMBER_OR_NULL,
        fall: NUMBER_OR_NULL,
        k: WHOLE,
      },
      { risenItem: TEXT, fallenItem: TEXT },
    ),
  ),
})

/** A switch of the live version. */
export const SWITCH = objectOf({
  model: TEXT,
  live: WHOLE,
  before: WHOLE,
  how: { enum: ['promoted', 'forced', 'rolled back'] },
})

function recordFields(names: readonly string[], value: Schema): Readonly<Record<string, Schema>> {
  return Object.fromEntries(names.map((name) => [name, value]))
}
