import type { MetricGroup } from '../../../core/metrics.ts'
import type { Barrier, CheckpointAck, CheckpointManifest } from '../protocol/checkpoint-types.ts'
import type { CheckpointFailureReason } from '../protocol/failure-decision.ts'
import { type CheckpointHistograms, CompletedCheckpoints } from './histograms.ts'

/*
 * Statistics of past checkpoints. Field names are those of Flink's REST API (`/jobs/:id/checkpoints`),
 * which is why they are not in camel case. Times in ms, sizes in bytes.
 */

/** Statistics of one task's part in a checkpoint. */
export interface TaskCheckpointStatistics {
  readonly task: string
  readonly ack_timestamp: number
  readonly end_to_end_duration: number
  /** Bytes that this checkpoint added. */
  readonly checkpointed_size: number
  readonly checkpoint: { readonly sync: number; readonly async: number }
  /** `persisted`: bytes of the records that barriers have overtaken. */
  readonly alignment: { readonly duration: number; readonly persisted: number }
  readonly start_delay: number
}

/** Statistics of one checkpoint. */
export interface CheckpointStatistics {
  readonly id: number
  status: 'IN_PROGRESS' | 'COMPLETED' | 'FAILED'
  readonly is_savepoint: boolean
  readonly checkpoint_type: 'CHECKPOINT' | 'SAVEPOINT'
  readonly trigger_timestamp: number
  latest_ack_timestamp: number
  end_to_end_duration: number
  /** Bytes that this checkpoint added. */
  checkpointed_size: number
  /** Bytes of all segments that it refers to. */
  state_size: number
  readonly num_subtasks: number
  num_acknowledged_subtasks: number
  failure_message: string | undefined
  external_path: string | undefined
  readonly tasks: TaskCheckpointStatistics[]
}

/** Numbers of checkpoints. */
export interface CheckpointCounts {
  readonly restored: number
  readonly total: number
  readonly in_progress: number
  readonly completed: number
  readonly failed: number
}

/** A checkpoint that an attempt restored. */
export interface RestoredCheckpoint {
  readonly id: number
  readonly restore_timestamp: number
  readonly is_savepoint: boolean
  readonly external_path: string
}

/** Number of checkpoints whose details are kept. */
const HISTORY = 20

/** Collects statistics and offers them as metrics under Flink's names. */
export class CheckpointStatisticsTracker {
  private readonly history: CheckpointStatistics[] = []
  private restored = 0
  private manifest: CheckpointManifest | undefined
  private lastRestored: RestoredCheckpoint | undefined
  private completed = 0
  private failed = 0
  private inProgress = 0
  private lastCompleted: CheckpointStatistics | undefined
  private readonly all = new CompletedCheckpoints()

  constructor(metrics?: MetricGroup) {
    if (metrics === undefined) return
    metrics.gauge('totalNumberOfCheckpoints', () => this.counts().total)
    metrics.gauge('numberOfInProgressCheckpoints', () => this.inProgress)
    metrics.gauge('numberOfCompletedCheckpoints', () => this.completed)
    metrics.gauge('numberOfFailedCheckpoints', () => this.failed)
    metrics.gauge('lastCompletedCheckpointId', () => this.lastCompleted?.id ?? -1)
    metrics.gauge('lastCheckpointDuration', () => this.lastCompleted?.end_to_end_duration ?? -1)
    metrics.gauge('lastCheckpointSize', () => this.lastCompleted?.checkpointed_size ?? -1)
    metrics.gauge('lastCheckpointFullSize', () => this.lastCompleted?.state_size ?? -1)
    metrics.gauge(
      'lastCheckpointRestoreTimestamp',
      () => this.lastRestored?.restore_timestamp ?? -1,
    )
  }

  /** The last checkpoints, newest first; those in progress are live objects. */
  recent(): readonly CheckpointStatistics[] {
    return [...this.history].reverse()
  }

  counts(): CheckpointCounts {
    return {
      restored: this.restored,
      total: this.completed + this.failed + this.inProgress,
      in_progress: this.inProgress,
      completed: this.completed,
      failed: this.failed,
    }
  }

  /** Durations and sizes of all completed checkpoints, not only of the last ones. */
  histograms(): CheckpointHistograms {
    return this.all.snapshot()
  }

  /** The checkpoint that was restored last. */
  get latestRestored(): RestoredCheckpoint | undefined {
    return this.lastRestored
  }

  /** The manifest of the checkpoint that was restored last. */
  get restoredManifest(): CheckpointManifest | undefined {
    return this.manifest
  }

  onRestored(manifest: CheckpointManifest, path: string, nowMs: number): void {
    this.restored += 1
    this.manifest = manifest
    this.lastRestored = {
      id: manifest.checkpointId,
      restore_timestamp: nowMs,
      is_savepoint: manifest.kind === 'savepoint',
      external_path: path,
    }
  }

  onTriggered(barrier: Barrier, tasks: number, isSavepoint: boolean): void {
    this.inProgress += 1
    this.history.push({
      id: barrier.checkpointId,
      status: 'IN_PROGRESS',
      is_savepoint: isSavepoint,
      checkpoint_type: isSavepoint ? 'SAVEPOINT' : 'CHECKPOINT',
      trigger_timestamp: barrier.timestampMs,
      latest_ack_timestamp: -1,
      end_to_end_duration: 0,
      checkpointed_size: 0,
      state_size: 0,
      num_subtasks: tasks,
      num_acknowledged_subtasks: 0,
      failure_message: undefined,
      external_path: undefined,
      tasks: [],
    })
    if (this.history.length > HISTORY) this.history.shift()
  }

  onAck(ack: CheckpointAck, nowMs: number): void {
    const checkpoint = this.find(ack.checkpointId)
    if (checkpoint === undefined) return
    const size = addedBytes(ack)
    checkpoint.latest_ack_timestamp = nowMs
    checkpoint.end_to_end_duration = nowMs - checkpoint.trigger_timestamp
    checkpoint.checkpointed_size += size
    checkpoint.num_acknowledged_subtasks += 1
    checkpoint.tasks.push({
      task: ack.task,
      ack_timestamp: nowMs,
      end_to_end_duration: checkpoint.end_to_end_duration,
      checkpointed_size: size,
      checkpoint: { sync: ack.timings.syncMs, async: ack.timings.asyncMs },
      alignment: { duration: ack.timings.alignmentMs, persisted: overtakenBytes(ack) },
      start_delay: ack.timings.startDelayMs,
    })
  }

  onCompleted(manifest: CheckpointManifest, path: string): void {
    this.completed += 1
    this.inProgress -= 1
    const checkpoint = this.find(manifest.checkpointId)
    if (checkpoint === undefined) return
    checkpoint.status = 'COMPLETED'
    checkpoint.end_to_end_duration = manifest.completedAtMs - manifest.triggeredAtMs
    checkpoint.state_size = totalBytes(manifest)
    checkpoint.external_path = path
    this.lastCompleted = checkpoint
    this.all.add(checkpoint.end_to_end_duration, checkpoint.checkpointed_size)
  }

  onFailed(checkpointId: number, reason: CheckpointFailureReason, message: string): void {
    this.failed += 1
    this.inProgress -= 1
    const checkpoint = this.find(checkpointId)
    if (checkpoint === undefined) return
    checkpoint.status = 'FAILED'
    checkpoint.failure_message = `${reason}: ${message}`
  }

  private find(id: number): CheckpointStatistics | undefined {
    return this.history.findLast((checkpoint) => checkpoint.id === id)
  }
}

function addedBytes(ack: CheckpointAck): number {
  let bytes = 0
  for (const operator of ack.operators) {
    for (const segment of operator.segments) bytes += segment.bytes
  }
  return bytes
}

function overtakenBytes({ operators }: CheckpointAck): number {
  let bytes = 0
  for (const { redistribution, entries } of operators.flatMap((of) => of.operatorState)) {
    if (redistribution !== 'channels') continue
    for (const entry of entries) bytes += entry.length
  }
  return bytes
}

/** Bytes of all segments; a file with two references counts once. */
function totalBytes(manifest: CheckpointManifest): number {
  const sizes = new Map<string, number>()
  for (const operator of manifest.operators) {
    for (const segment of operator.segments) sizes.set(segment.path, segment.bytes)
  }
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
}
