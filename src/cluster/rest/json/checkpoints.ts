import { parseStorageUrl } from '../../../core/storage-url.ts'
import type {
  CheckpointStatistics,
  TaskCheckpointStatistics,
} from '../../../runtime/checkpoint/coordinator/statistics.ts'
import type {
  CheckpointSettings,
  CheckpointsSnapshot,
  JobSnapshot,
  VertexSnapshot,
} from '../port/job-snapshot.ts'
import { summaryOf } from './statistics.ts'

/** Names of storages, as Flink names its own. */
const STORAGE_NAMES = {
  local: 'FileSystemCheckpointStorage',
  hdfs: 'HdfsCheckpointStorage',
  s3: 'S3CheckpointStorage',
} as const

/** `/jobs/:jobid/checkpoints`. */
export function checkpointsJson(checkpoints: CheckpointsSnapshot): object {
  const { counts, history, restored } = checkpoints
  const done = history.filter(({ status }) => status === 'COMPLETED')
  const latest = (matches: (checkpoint: CheckpointStatistics) => boolean): object | null => {
    const found = history.find(matches)
    return found === undefined ? null : checkpointJson(found, {})
  }
  return {
    counts,
    summary: {
      checkpointed_size: summaryOf(done.map(({ checkpointed_size }) => checkpointed_size)),
      state_size: summaryOf(done.map(({ state_size }) => state_size)),
      end_to_end_duration: summaryOf(done.map(({ end_to_end_duration }) => end_to_end_duration)),
      alignment_buffered: summaryOf([]),
      processed_data: summaryOf([]),
      persisted_data: summaryOf(done.map(persistedBytes)),
    },
    latest: {
      completed: latest(({ status, is_savepoint }) => status === 'COMPLETED' && !is_savepoint),
      savepoint: latest(({ status, is_savepoint }) => status === 'COMPLETED' && is_savepoint),
      failed: latest(({ status }) => status === 'FAILED'),
      restored:
        restored === undefined
          ? null
          : {
              id: restored.id,
              restore_timestamp: restored.atMs,
              is_savepoint: restored.isSavepoint,
              external_path: restored.path,
            },
    },
    history: history.map((checkpoint) => checkpointJson(checkpoint, {})),
  }
}

/** `/jobs/:jobid/checkpoints/config`. */
export function checkpointConfigJson(settings: CheckpointSettings): object {
  return {
    mode: settings.mode === 'exactly-once' ? 'exactly_once' : 'at_least_once',
    // Flink's number for a job without periodic checkpoints.
    interval: settings.intervalMs ?? Number.MAX_SAFE_INTEGER,
    timeout: settings.timeoutMs,
    min_pause: settings.minPauseMs,
    max_concurrent: 1,
    externalization: { enabled: true, delete_on_cancellation: false },
    state_backend: settings.stateBackend,
    checkpoint_storage: STORAGE_NAMES[parseStorageUrl(settings.directory).kind],
    unaligned_checkpoints: settings.unaligned,
    tolerable_failed_checkpoints: settings.tolerableFailures,
    aligned_checkpoint_timeout: settings.alignedTimeoutMs,
    checkpoints_after_tasks_finish: true,
    state_changelog_enabled: false,
    changelog_periodic_materialization_interval: 0,
    changelog_storage: null,
  }
}

/** `/jobs/:jobid/checkpoints/details/:checkpointid`. */
export function checkpointDetailJson(job: JobSnapshot, checkpoint: CheckpointStatistics): object {
  const tasks = job.vertices.map((vertex) => [vertex.id, vertexSummary(checkpoint, vertex)])
  return checkpointJson(checkpoint, Object.fromEntries(tasks))
}

/** `/jobs/:jobid/checkpoints/details/:checkpointid/subtasks/:vertexid`. */
export function checkpointVertexJson(
  checkpoint: CheckpointStatistics,
  vertex: VertexSnapshot,
): object {
  const acks = acksOf(checkpoint, vertex)
  const all = [...acks.values()]
  const of = (value: (ack: TaskCheckpointStatistics) => number): object => summaryOf(all.map(value))
  return {
    ...vertexSummary(checkpoint, vertex),
    summary: {
      checkpointed_size: of((ack) => ack.checkpointed_size),
      state_size: of((ack) => ack.checkpointed_size),
      end_to_end_duration: of((ack) => ack.end_to_end_duration),
      checkpoint_duration: {
        sync: of((ack) => ack.checkpoint.sync),
        async: of((ack) => ack.checkpoint.async),
      },
      alignment: {
        buffered: summaryOf([]),
        processed: summaryOf([]),
        persisted: of((ack) => ack.alignment.persisted),
        duration: of((ack) => ack.alignment.duration),
      },
      start_delay: of((ack) => ack.start_delay),
    },
    subtasks: Array.from({ length: vertex.parallelism }, (_, index) =>
      subtaskJson(index, acks.get(index), checkpoint),
    ),
  }
}

/** Buffers of some tasks: the records that barriers have overtaken. None waits in a buffer of its own, as in Flink. */
function buffersOf(tasks: TaskCheckpointStatistics[]): object {
  return {
    alignment_buffered: 0,
    processed_data: 0,
    persisted_data: persistedBytes({ tasks }),
  }
}

function persistedBytes({ tasks }: Pick<CheckpointStatistics, 'tasks'>): number {
  return tasks.reduce((sum, { alignment }) => sum + alignment.persisted, 0)
}

function checkpointJson(checkpoint: CheckpointStatistics, tasks: object): object {
  const { status, trigger_timestamp, end_to_end_duration } = checkpoint
  return {
    '@class': CLASS_OF[status],
    id: checkpoint.id,
    status,
    is_savepoint: checkpoint.is_savepoint,
    savepointFormat: checkpoint.is_savepoint ? 'CANONICAL' : null,
    trigger_timestamp,
    latest_ack_timestamp: checkpoint.latest_ack_timestamp,
    checkpointed_size: checkpoint.checkpointed_size,
    state_size: Math.max(checkpoint.state_size, checkpoint.checkpointed_size),
    end_to_end_duration,
    ...buffersOf(checkpoint.tasks),
    num_subtasks: checkpoint.num_subtasks,
    num_acknowledged_subtasks: checkpoint.num_acknowledged_subtasks,
    checkpoint_type: checkpoint.checkpoint_type,
    tasks,
    ...(status === 'COMPLETED'
      ? { external_path: checkpoint.external_path ?? '', discarded: false }
      : {}),
    ...(status === 'FAILED'
      ? {
          failure_timestamp: trigger_timestamp + end_to_end_duration,
          failure_message: checkpoint.failure_message ?? '',
        }
      : {}),
  }
}

const CLASS_OF = { COMPLETED: 'completed', FAILED: 'failed', IN_PROGRESS: 'in_progress' } as const

function vertexSummary(checkpoint: CheckpointStatistics, vertex: VertexSnapshot): object {
  const acks = [...acksOf(checkpoint, vertex).values()]
  const bytes = acks.reduce((sum, ack) => sum + ack.checkpointed_size, 0)
  return {
    id: checkpoint.id,
    status: checkpoint.status,
    latest_ack_timestamp: Math.max(-1, ...acks.map((ack) => ack.ack_timestamp)),
    checkpointed_size: bytes,
    state_size: bytes,
    end_to_end_duration: Math.max(0, ...acks.map((ack) => ack.end_to_end_duration)),
    ...buffersOf(acks),
    num_subtasks: vertex.parallelism,
    num_acknowledged_subtasks: acks.length,
  }
}

function subtaskJson(
  index: number,
  ack: TaskCheckpointStatistics | undefined,
  { status }: CheckpointStatistics,
): object {
  if (ack === undefined)
    return { index, status: status === 'FAILED' ? 'failed' : 'pending_or_failed' }
  return {
    index,
    status: 'completed',
    ack_timestamp: ack.ack_timestamp,
    end_to_end_duration: ack.end_to_end_duration,
    checkpointed_size: ack.checkpointed_size,
    state_size: ack.checkpointed_size,
    checkpoint: { sync: ack.checkpoint.sync, async: ack.checkpoint.async },
    alignment: { buffered: 0, processed: 0, ...ack.alignment },
    start_delay: ack.start_delay,
    unaligned_checkpoint: ack.alignment.persisted > 0,
    aborted: false,
  }
}

/** Acknowledgements of a vertex by subtask. */
function acksOf(
  { tasks }: CheckpointStatistics,
  { uid }: VertexSnapshot,
): ReadonlyMap<number, TaskCheckpointStatistics> {
  const own = tasks.filter(({ task }) => task.slice(0, task.lastIndexOf('#')) === uid)
  return new Map(own.map((ack) => [Number(ack.task.slice(ack.task.lastIndexOf('#') + 1)), ack]))
}
