import { setImmediate as nextTurn } from 'node:timers/promises'
import { ByteWriter } from '../../core/byte-writer.ts'
import { type Clock, orAfter } from '../../core/clock.ts'
import { asWeirError, isWeirError, messageOf } from '../../core/errors.ts'
import { keyGroupOf } from '../../core/key-group.ts'
import { seededRandom } from '../../core/random.ts'
import {
  encodeSequenceKey,
  readSequence,
  STORED_SEQUENCES,
  type StoredSequence,
  writeSequence,
} from '../../inference/sequences/stored-sequence.ts'
import { processClaimant } from '../../runtime/checkpoint/coordinator/claimant.ts'
import { CheckpointCoordinator } from '../../runtime/checkpoint/coordinator/coordinator.ts'
import { isDamageCode } from '../../runtime/checkpoint/coordinator/damage.ts'
import type {
  Barrier,
  CheckpointManifest,
  SegmentReference,
} from '../../runtime/checkpoint/protocol/checkpoint-types.ts'
import { openSegment, visitSpans } from '../../runtime/checkpoint/segment/reader.ts'
import { SegmentWriter } from '../../runtime/checkpoint/segment/writer.ts'
import type { CheckpointStorage } from '../../runtime/checkpoint/storage/checkpoint-storage.ts'
import { loadStorage } from '../../runtime/checkpoint/storage/load.ts'
import { segmentPath } from '../../runtime/checkpoint/storage/paths.ts'
import type { CheckpointConfiguration } from '../../runtime/configuration/configuration.ts'
import { keyOfSpan, valueOfSpan } from '../../state/port/change.ts'
import { takeLastCheckpoint } from '../last-checkpoint.ts'
import { jobIdOf } from '../serve/job-id.ts'
import type { SequenceEvent } from './events.ts'
import type { ModelSequences } from './model-sequences.ts'

/** A configuration that says where checkpoints are and how often they are taken. */
export type KeptCheckpoints = CheckpointConfiguration & {
  readonly directory: string
  readonly intervalMs: number
}

/** Options of the checkpoints of sequences. */
export interface SequenceCheckpointsOptions {
  readonly sequences: ModelSequences
  /** Folder of the repository: the checkpoints are those of its models. */
  readonly repository: string
  readonly checkpoints: KeptCheckpoints
  readonly clock: Clock
  readonly onEvent: (event: SequenceEvent) => void
}

/** The only operator, and its only task: nothing but the sequences is in the checkpoints. */
const UID = 'sequences'
const TASK = `${UID}#0`
const KEY_GROUPS = 128
const ALL_GROUPS = { first: 0, last: KEY_GROUPS - 1 }
/** Time after which requests have their turn, ms. */
const TURN_MS = 1
/** A block is put in order at once: one of this size takes a fraction of a millisecond. */
const BLOCK_BYTES = 256 * 1024
const NO_TIMINGS = { startDelayMs: 0, alignmentMs: 0, syncMs: 0, asyncMs: 0 }

/**
 * Checkpoints of what models carry for sequences, as those of a job with one subtask: claim and fence, manifests, checksums
 * and the way back to an older one are the same. Each has all sequences, those of one moment each; where no request has come
 * since the last one, that one's file counts again.
 */
export class SequenceCheckpoints implements AsyncDisposable {
  private readonly options: SequenceCheckpointsOptions
  private readonly storage: CheckpointStorage
  private readonly coordinator: CheckpointCoordinator
  private readonly jobId: string
  private attempt = 0
  private segments = 0
  private isLast = false
  /** `ModelSequences.changes` that the newest file, and the newest checkpoint, has. */
  private written = { checkpointId: 0, changes: -1 }
  private stored = -1
  private problem = ''

  private constructor(
    options: SequenceCheckpointsOptions,
    storage: CheckpointStorage,
    coordinator: CheckpointCoordinator,
  ) {
    this.options = options
    this.storage = storage
    this.coordinator = coordinator
    this.jobId = jobIdOf(jobNameOf(options))
  }

  /**
   * Takes the sequences of the models over, restores what the newest whole checkpoint has of them, and begins to take new
   * ones. Where no checkpoint can be read, that is an event, nothing is restored, and none is taken, so that the files stay as
   * they are. Rejects with JOB_ALREADY_RUNNING, STORAGE_FAILED.
   */
  static async open(options: SequenceCheckpointsOptions): Promise<SequenceCheckpoints | undefined> {
    const { checkpoints, clock, onEvent } = options
    const storage = await loadStorage(checkpoints.directory, (error) =>
      onEvent({ event: 'sequences-problem', error }),
    )
    const jobName = jobNameOf(options)
    try {
      const coordinator = await CheckpointCoordinator.open({
        jobId: jobIdOf(jobName),
        jobName,
        storage,
        clock,
        random: seededRandom(process.pid),
        job: {
          triggerBarrier: (barrier) => void opened.acknowledge(barrier),
          notifyCompleted: (checkpointId) => opened.completed(checkpointId),
          notifyAborted: () => {},
          failJob: (error) => opened.report(error),
        },
        intervalMs: checkpoints.intervalMs,
        timeoutMs: checkpoints.timeoutMs,
        minPauseMs: checkpoints.minPauseMs,
        // Models answer without checkpoints, too; each failure is reported.
        tolerableFailures: Number.MAX_SAFE_INTEGER,
        retained: checkpoints.retained,
        // A checkpoint has all sequences in one file.
        compaction: false,
        listener: {
          checkpointFailed: (_id, reason, error) => {
            if (reason !== 'subsumed' && reason !== 'stopped') opened.report(error)
          },
          warning: (error) => onEvent({ event: 'sequences-problem', error }),
        },
        claimant: processClaimant(jobName, checkpoints.takeOver, clock),
      })
      const opened: SequenceCheckpoints = new SequenceCheckpoints(options, storage, coordinator)
      if (await opened.begin()) return opened
    } catch (error) {
      await storage.close()
      throw error
    }
    await storage.close()
    return undefined
  }

  /** Restores, and begins to take checkpoints; false where there are some and none can be read. */
  private async begin(): Promise<boolean> {
    const { coordinator, options } = this
    const { checkpoints, onEvent } = options
    try {
      const restored = await this.restore()
      coordinator.start(this.attempt, [TASK])
      const { directory, intervalMs } = checkpoints
      onEvent({ event: 'sequences', directory, intervalMs, ...restored })
      return true
    } catch (error) {
      await coordinator.close()
      await coordinator.release()
      const isUnreadable =
        isWeirError(error) && (isDamageCode(error.code) || error.code === 'UNSUPPORTED_VERSION')
      if (!isUnreadable) throw error
      onEvent({ event: 'sequences-off', error })
      return false
    }
  }

  private async restore() {
    const { coordinator, storage, options } = this
    for (;;) {
      const manifest = await coordinator.restorePoint(++this.attempt)
      if (manifest === undefined) return {}
      try {
        const { checkpointId, triggeredAtMs, generation } = manifest
        const stored = await readSequences(storage, manifest)
        // Another process in between may have answered more.
        const isNext = generation + 1 === coordinator.generation
        const restored = stored.map((one) => ({ ...one, isWhole: one.isWhole && isNext }))
        options.sequences.restore(restored)
        const whole = restored.filter(({ isWhole }) => isWhole).length
        return { restored: { checkpointId, triggeredAtMs, sequences: stored.length, whole } }
      } catch (error) {
        const isDamage = isWeirError(error) && isDamageCode(error.code)
        if (!isDamage || !(await coordinator.fallBackFromDamage())) throw error
      }
    }
  }

  /** The task's part of a checkpoint. Does not throw. */
  private async acknowledge(barrier: Barrier): Promise<void> {
    const { coordinator, attempt, jobId } = this
    const { checkpointId } = barrier
    const facts = { jobId, attempt, checkpointId, task: TASK }
    try {
      const segments = await this.segmentsOf(barrier)
      const subtask = { uid: UID, subtask: 0, parallelism: 1, maxParallelism: KEY_GROUPS }
      const state = { declarations: [STORED_SEQUENCES], segments, isKeyed: true, operatorState: [] }
      coordinator.onAck({ ...facts, operators: [{ ...subtask, ...state }], timings: NO_TIMINGS })
    } catch (error) {
      coordinator.onDecline({ ...facts, reason: messageOf(error) })
    }
  }

  /** A file of all sequences; none where the one of the newest checkpoint has the same. */
  private async segmentsOf({ checkpointId, full }: Barrier): Promise<readonly SegmentReference[]> {
    const { changes } = this.options.sequences
    this.written = { checkpointId, changes }
    if (changes === this.stored && !full && !this.isLast) return []
    return [await this.write(checkpointId)]
  }

  private async write(checkpointId: number): Promise<SegmentReference> {
    const { storage, attempt, jobId } = this
    const { sequences, clock } = this.options
    const { generation } = this.coordinator
    const number = this.segments++
    const path = segmentPath({ jobId, generation, attempt, uid: UID, subtask: 0, number })
    const file = new SegmentWriter({
      storage,
      path,
      keyGroups: ALL_GROUPS,
      blockBytes: BLOCK_BYTES,
    })
    const value = new ByteWriter()
    try {
      let untilMs = clock.monotonicMs() + TURN_MS
      for (const sequence of sequences.stored(this.isLast)) {
        const key = encodeSequenceKey(sequence)
        value.reset()
        writeSequence(value, sequence)
        const bytes = value.bytes.subarray(0, value.length)
        file.append(keyGroupOf(key, KEY_GROUPS), STORED_SEQUENCES.name, key, bytes)
        if (clock.monotonicMs() < untilMs) continue
        await nextTurn()
        await file.whenReady()
        untilMs = clock.monotonicMs() + TURN_MS
      }
      return await file.finish({ checkpointId, full: true })
    } catch (error) {
      await file.abort()
      throw error
    }
  }

  private completed(checkpointId: number): void {
    this.problem = ''
    if (this.written.checkpointId === checkpointId) this.stored = this.written.changes
  }

  /** Reports a failure once, not with each checkpoint. */
  private report(error: Error): void {
    const problem = asWeirError(error, 'STORAGE_FAILED')
    if (problem.code === this.problem) return
    this.problem = problem.code
    this.options.onEvent({ event: 'sequences-problem', error: problem })
  }

  /**
   * Takes no request of a sequence any more, and a last checkpoint when those under way have ended, both within
   * `execution.checkpointing.shutdown-timeout`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const { coordinator, storage } = this
    const { sequences, checkpoints, clock, onEvent } = this.options
    await orAfter(clock, checkpoints.shutdownTimeoutMs, sequences.end(), () => {})
    this.isLast = true
    const job = {
      status: 'RUNNING',
      configuration: { checkpoints },
      triggerCheckpoint: async () => (await coordinator.triggerCheckpoint()).checkpointId,
    }
    onEvent({ event: 'last-checkpoint', last: await takeLastCheckpoint(job, clock) })
    await coordinator.close()
    await coordinator.release()
    await storage.close()
  }
}

/** Name of the job that the sequences of a repository are for checkpoints. */
const jobNameOf = ({ repository }: Pick<SequenceCheckpointsOptions, 'repository'>): string =>
  `models ${repository}`

/** What a checkpoint has of sequences. Throws CHECKSUM_MISMATCH, MALFORMED_DATA, UNSUPPORTED_VERSION, STORAGE_FAILED. */
async function readSequences(
  storage: CheckpointStorage,
  { operators }: CheckpointManifest,
): Promise<readonly StoredSequence[]> {
  const stored: StoredSequence[] = []
  for (const { segments } of operators.filter(({ uid }) => uid === UID)) {
    for (const segment of segments) {
      await visitSpans(await openSegment(storage, segment), ALL_GROUPS, (_group, _state, entry) => {
        stored.push(readSequence(keyOfSpan(entry), valueOfSpan(entry)!))
      })
    }
  }
  return stored
}
