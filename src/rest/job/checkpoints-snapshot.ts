import type { CheckpointStatistics } from '../../checkpoint/coordinator/statistics.ts'
import type { JobExecution } from '../../runtime/job/execution.ts'
import type { CheckpointSettings, CheckpointsSnapshot } from '../port/job-snapshot.ts'
import { placeInStorage } from './savepoint-place.ts'

/** The checkpoints of a job, with places as URLs; undefined for a job that takes none. */
export function checkpointsSnapshot(execution: JobExecution): CheckpointsSnapshot | undefined {
  const { checkpointStatistics: statistics, configuration } = execution
  const { directory } = configuration.checkpoints
  if (statistics === undefined || directory === undefined) return undefined
  const restored = statistics.latestRestored
  return {
    counts: statistics.counts(),
    history: statistics.recent().map((checkpoint) => copyOf(checkpoint, directory)),
    histograms: statistics.histograms(),
    restored:
      restored === undefined
        ? undefined
        : {
            id: restored.id,
            atMs: restored.restore_timestamp,
            isSavepoint: restored.is_savepoint,
            path: placeInStorage(restored.external_path, directory),
          },
    settings: settingsOf(configuration, directory),
  }
}

/** The tracker changes its objects while a checkpoint is in progress. */
function copyOf(checkpoint: CheckpointStatistics, directory: string): CheckpointStatistics {
  const { external_path: path, tasks } = checkpoint
  const place = path === undefined ? undefined : placeInStorage(path, directory)
  return { ...checkpoint, external_path: place, tasks: [...tasks] }
}

function settingsOf(
  { checkpoints, stateBackend }: JobExecution['configuration'],
  directory: string,
): CheckpointSettings {
  return {
    mode: checkpoints.mode,
    intervalMs: checkpoints.intervalMs,
    unaligned: checkpoints.unaligned,
    alignedTimeoutMs: checkpoints.alignedTimeoutMs,
    timeoutMs: checkpoints.timeoutMs,
    minPauseMs: checkpoints.minPauseMs,
    tolerableFailures: checkpoints.tolerableFailures,
    retained: checkpoints.retained,
    directory,
    savepointDirectory: checkpoints.savepointDirectory ?? 'savepoints',
    stateBackend,
  }
}
