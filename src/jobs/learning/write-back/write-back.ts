import { openTopics } from '../../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../../connectors/topics/place.ts'
import type { TopicStore } from '../../../connectors/topics/store.ts'
import type { Cancel, Clock } from '../../../core/clock.ts'
import { asWeirError, type WeirError } from '../../../core/errors.ts'
import type { LearnedPart } from '../../../models/registry/learned-part.ts'
import type { ModelVersionMarker } from '../../../models/registry/version-marker.ts'
import type { CheckpointManifest } from '../../../runtime/checkpoint/protocol/checkpoint-types.ts'
import type { StoredCheckpoint } from '../../../runtime/job/end.ts'
import type { JobExecution } from '../../../runtime/job/execution.ts'
import type { JobStatus } from '../../../runtime/job/status.ts'
import { changedRows } from './changed-rows.ts'
import { type LearnedFacts, learnedFacts } from './checkpoint-facts.ts'
import { deletableDeltas } from './deletable-deltas.ts'
import { decideWriteBack, isGivenUp, type LearnedUpTo } from './due.ts'
import { encodeFolded } from './folded-deltas.ts'
import type { LearnedModel } from './learned-model.ts'
import { publishLearned } from './publish.ts'

/** Rows of a version that were written back. */
export interface WrittenBack {
  readonly version: number
  readonly rows: number
}

/** Options of write-backs. */
export interface WriteBackOptions {
  readonly model: LearnedModel
  readonly place: TopicsPlace
  /** Model topic. */
  readonly topic: string
  /** Topic of the observations. */
  readonly observations: string
  /** Time between two write-backs, ms. */
  readonly everyMs: number
  readonly clock: Clock
  /**
   * Deltas are sums that come with the transactions of checkpoints: a checkpoint is written back when its own are in the
   * topic, because rows of users that include its ratings must not be there without them. @default false
   */
  readonly isSummed?: boolean | undefined
  /** The newest `ready` marker of a version; undefined for one that was retired. */
  readonly markerOf: (version: number) => ModelVersionMarker | undefined
  readonly onWritten?: ((written: WrittenBack) => void) | undefined
  /** Topic of the deltas that are deleted when they are written back; undefined to keep them. */
  readonly deleteFrom?: string | undefined
  /** Deltas were not deleted; the next write-back deletes them. */
  readonly onNotDeleted?: ((error: WeirError) => void) | undefined
  /** A write-back failed; the next one writes the same rows. */
  readonly onFailed?: ((error: WeirError) => void) | undefined
  /** The job ended without a checkpoint: what was learned since the last write-back is not in the topic. */
  readonly onLeftOut?: ((status: JobStatus) => void) | undefined
}

/**
 * Writes what a job has learned back to the model topic as rows of their versions: from time to time,
 * and at the end. The rows are those of one checkpoint, in one transaction for each version with a
 * marker that says what they include. A write-back that is interrupted leaves nothing, and the next one
 * writes the same rows. It runs beside the job, which does not wait for it.
 */
export class WriteBack implements AsyncDisposable {
  private readonly options: WriteBackOptions
  private job: JobExecution | undefined
  private cancel: Cancel | undefined
  private running: Promise<void> = Promise.resolve()
  private isClosed = false
  /** By version, the last checkpoint that was written back. */
  private readonly writtenUpTo = new Map<number, number>()
  /** Versions that the last write-back found no marker of: retired, or not yet read after a restart. */
  private missing: ReadonlySet<number> = new Set()
  /** By version, the checkpoint that the job had begun from when the version was written back last. */
  private readonly writtenSince = new Map<number, CheckpointManifest | undefined>()

  constructor(options: WriteBackOptions) {
    this.options = options
  }

  /** Writes back from now on, and the last time when the job ends, however it does. */
  start(job: JobExecution): void {
    this.job = job
    job.onFinishing(async (checkpoint) => {
      await this.end()
      await this.write(job, async () => checkpoint)
    })
    job.onStatus(({ to }) => {
      if (to !== 'CANCELED' && to !== 'FAILED') return
      void this.end()
      this.options.onLeftOut?.(to)
    })
    this.schedule()
  }

  /**
   * Writes back now if the topic has rows of a run that was given up, because the job began from an older checkpoint.
   * Call it when the markers of the topic are read.
   */
  async replaceGivenUp(): Promise<void> {
    const { job, isClosed } = this
    if (job === undefined || isClosed) return
    const versions = restoredFacts(job, this.options.model)?.versions ?? []
    const isDue = versions.some((version) =>
      isGivenUp(this.options.markerOf(version)?.learned, this.begunOf(version)),
    )
    if (!isDue) return
    this.running = this.running.then(() => this.run())
    await this.running
  }

  /** Writes back what was learned since the last time, then ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
    await this.run()
  }

  private async end(): Promise<void> {
    this.isClosed = true
    this.cancel?.()
    await this.running
  }

  private schedule(): void {
    if (this.isClosed) return
    const { clock, everyMs } = this.options
    this.cancel = clock.after(everyMs, () => {
      this.running = this.running.then(() => this.run()).then(() => this.schedule())
    })
  }

  private async run(): Promise<void> {
    const { job } = this
    const { isSummed } = this.options
    if (job?.status === 'RUNNING') await this.write(job, () => job.takeCheckpoint(isSummed))
  }

  private async write(job: JobExecution, take: () => Promise<StoredCheckpoint>): Promise<void> {
    try {
      const checkpoint = await take()
      const facts = learnedFacts(checkpoint.manifest, this.options.model)
      await this.writeCheckpoint(facts, checkpoint)
      await this.deleteDeltas(facts, job)
    } catch (error) {
      this.options.onFailed?.(asWeirError(error, 'CONNECTOR_FAILED'))
    }
  }

  /**
   * Deletes the deltas that the rows now in the topic include and no retained checkpoint reads again. Not while a
   * version may not be written: one without a marker counts as retired when it had none the time before, too.
   */
  private async deleteDeltas(facts: LearnedFacts, job: JobExecution): Promise<void> {
    const { deleteFrom, model, place, markerOf, onNotDeleted } = this.options
    if (deleteFrom === undefined) return
    const missing = facts.versions.filter((version) => markerOf(version) === undefined)
    const isSafe = missing.every((version) => this.missing.has(version))
    this.missing = new Set(missing)
    if (!isSafe) return
    // A learner without checkpoints compares the newest marker with the start of the topic.
    const markers = facts.versions.flatMap((version) => markerOf(version)?.learned ?? [])
    const [newest] = markers.sort((a, b) => b.atMs - a.atMs)
    const kept = job.retainedCheckpoints.map((manifest) => learnedFacts(manifest, model).deltas)
    try {
      await using topics = await openTopics(place)
      const readers = [facts.deltas, newest?.deltas ?? [], ...kept]
      await topics.deleteRecords(deleteFrom, deletableDeltas(readers))
    } catch (error) {
      onNotDeleted?.(asWeirError(error, 'CONNECTOR_FAILED'))
    }
  }

  private async writeCheckpoint(facts: LearnedFacts, checkpoint: StoredCheckpoint): Promise<void> {
    const { place, observations } = this.options
    await using topics = await openTopics(place)
    const { id } = await topics.identity(observations)
    for (const version of facts.versions) {
      const learned = this.learnedPart(version, facts, id)
      const rows = await this.writeVersion(topics, { version, learned, checkpoint })
      if (rows !== undefined) this.options.onWritten?.({ version, rows })
    }
  }

  /** The number of rows written; undefined where nothing was to be written. */
  private async writeVersion(
    topics: TopicStore,
    {
      version,
      learned,
      checkpoint,
    }: {
      readonly version: number
      readonly learned: LearnedPart
      readonly checkpoint: StoredCheckpoint
    },
  ): Promise<number | undefined> {
    const { model, topic, markerOf } = this.options
    const marker = markerOf(version)
    const before = marker?.learned
    const isPresent = marker !== undefined
    const begun = this.begunOf(version)
    const decision = decideWriteBack({ isPresent, before, now: learned, begun })
    if (decision !== 'write' && decision !== 'replace') return undefined
    const all = decision === 'replace'
    const after = all ? 0 : (this.writtenUpTo.get(version) ?? 0)
    const restored = this.job?.checkpointStatistics?.restoredManifest
    const rows = await publishLearned(
      {
        marker: marker!,
        learned,
        rows: changedRows({ checkpoint, model, version, after, all }),
      },
      { topics, topic, isPresent: (each) => markerOf(each) !== undefined },
    )
    this.writtenUpTo.set(version, checkpoint.manifest.checkpointId)
    this.writtenSince.set(version, restored)
    return rows
  }

  /** How far a version was learned where the job began; undefined if it did not have it, or has written it back since. */
  private begunOf(version: number): LearnedUpTo | undefined {
    const { job, options, writtenSince } = this
    const facts = job && restoredFacts(job, options.model)
    if (facts?.versions.includes(version) !== true) return undefined
    const isWritten =
      writtenSince.has(version) &&
      writtenSince.get(version) === job?.checkpointStatistics?.restoredManifest
    return isWritten ? undefined : { next: facts.next(version), deltas: facts.deltas }
  }

  /** `id`: of the topic of observations, empty where it has none. */
  private learnedPart(version: number, facts: LearnedFacts, id: string): LearnedPart {
    const { observations, clock } = this.options
    return {
      atMs: clock.nowMs(),
      observations,
      ...(id === '' ? {} : { observationsId: id }),
      next: facts.next(version),
      folded: encodeFolded(facts.folded(version)),
      deltas: facts.deltas,
    }
  }
}

/** What the checkpoint that a job began from says; undefined without one. */
function restoredFacts(job: JobExecution, model: LearnedModel): LearnedFacts | undefined {
  const manifest = job.checkpointStatistics?.restoredManifest
  return manifest && learnedFacts(manifest, model)
}
