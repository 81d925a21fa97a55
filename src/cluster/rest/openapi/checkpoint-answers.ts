import {
  FLAG,
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

const SUMMARY = recordOf(['min', 'max', 'avg', 'p50', 'p90', 'p95', 'p99', 'p999'], NUMBER)
const STATUS: Schema = { enum: ['COMPLETED', 'FAILED', 'IN_PROGRESS'] }
const BUFFERS = { alignment_buffered: WHOLE, processed_data: WHOLE, persisted_data: WHOLE }
const SIZES = { checkpointed_size: WHOLE, state_size: WHOLE, end_to_end_duration: WHOLE }
const SUBTASKS = { num_subtasks: WHOLE, num_acknowledged_subtasks: WHOLE }

const VERTEX_FIELDS = {
  id: WHOLE,
  status: STATUS,
  latest_ack_timestamp: TIME,
  ...SIZES,
  ...BUFFERS,
  ...SUBTASKS,
}

/** `/jobs/:jobid/checkpoints/details/:checkpointid`. */
export const CHECKPOINT = objectOf(
  {
    '@class': { enum: ['completed', 'failed', 'in_progress'] },
    ...VERTEX_FIELDS,
    is_savepoint: FLAG,
    savepointFormat: { enum: ['CANONICAL', null] },
    trigger_timestamp: TIME,
    checkpoint_type: TEXT,
    tasks: mapOf(objectOf(VERTEX_FIELDS)),
  },
  { external_path: TEXT, discarded: FLAG, failure_timestamp: TIME, failure_message: TEXT },
)

/** `/jobs/:jobid/checkpoints`. */
export const CHECKPOINTS = objectOf({
  counts: recordOf(['restored', 'total', 'in_progress', 'completed', 'failed'], WHOLE),
  summary: recordOf([...Object.keys(SIZES), ...Object.keys(BUFFERS)], SUMMARY),
  latest: objectOf({
    completed: orNull(CHECKPOINT),
    savepoint: orNull(CHECKPOINT),
    failed: orNull(CHECKPOINT),
    restored: orNull(
      objectOf({ id: WHOLE, restore_timestamp: TIME, is_savepoint: FLAG, external_path: TEXT }),
    ),
  }),
  history: listOf(CHECKPOINT),
})

/** `/jobs/:jobid/checkpoints/config`. */
export const CHECKPOINT_CONFIG = objectOf({
  mode: { enum: ['exactly_once', 'at_least_once'] },
  interval: WHOLE,
  timeout: WHOLE,
  min_pause: WHOLE,
  max_concurrent: WHOLE,
  externalization: objectOf({ enabled: FLAG, delete_on_cancellation: FLAG }),
  state_backend: TEXT,
  checkpoint_storage: TEXT,
  unaligned_checkpoints: FLAG,
  tolerable_failed_checkpoints: WHOLE,
  aligned_checkpoint_timeout: WHOLE,
  checkpoints_after_tasks_finish: FLAG,
  state_changelog_enabled: FLAG,
  changelog_periodic_materialization_interval: WHOLE,
  changelog_storage: { type: 'null' },
})

const STEPS = { sync: NUMBER, async: NUMBER }
const SUBTASK = objectOf(
  { index: WHOLE, status: { enum: ['completed', 'failed', 'pending_or_failed'] } },
  {
    ack_timestamp: TIME,
    end_to_end_duration: NUMBER,
    checkpointed_size: WHOLE,
    state_size: WHOLE,
    checkpoint: objectOf(STEPS),
    alignment: recordOf(['buffered', 'processed', 'persisted', 'duration'], NUMBER),
    start_delay: NUMBER,
    unaligned_checkpoint: FLAG,
    aborted: FLAG,
  },
)

/** `/jobs/:jobid/checkpoints/details/:checkpointid/subtasks/:vertexid`. */
export const CHECKPOINT_VERTEX = objectOf({
  ...VERTEX_FIELDS,
  summary: objectOf({
    checkpointed_size: SUMMARY,
    state_size: SUMMARY,
    end_to_end_duration: SUMMARY,
    checkpoint_duration: recordOf(Object.keys(STEPS), SUMMARY),
    alignment: recordOf(['buffered', 'processed', 'persisted', 'duration'], SUMMARY),
    start_delay: SUMMARY,
  }),
  subtasks: listOf(SUBTASK),
})
