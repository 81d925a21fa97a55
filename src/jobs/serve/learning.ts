import { openTopics } from '../../connectors/topics/open.ts'
import { orAfter, systemClock } from '../../core/clock.ts'
import { asWeirError, messageOf, requireArgument, WeirError } from '../../core/errors.ts'
import { BackgroundWork } from '../../core/lifetime/background-work.ts'
import { ResourceStack } from '../../core/lifetime/resource-stack.ts'
import { isSameLearning } from '../../models/registry/commands.ts'
import type { LearningTopic } from '../../models/registry/version.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { checkModelTopics } from '../../models/topic/check-topics.ts'
import { createKeptTopics, deltasTopic } from '../../models/topic/topics.ts'
import type { VersionCoordinator } from '../../models/topic/version-coordinator.ts'
import type { JobStatus } from '../../runtime/job/status.ts'
import type { LearningCoordinator, LearningCoordinatorOptions } from '../learning/coordinator.ts'
import type { LearnableVersion, WorseReport } from '../learning/messages.ts'
import { refusedText } from '../learning/refused-total.ts'
import type { LearnedModel } from '../learning/write-back/learned-model.ts'
import { dropUnfinished } from '../learning/write-back/publish.ts'
import { WriteBack, type WrittenBack } from '../learning/write-back/write-back.ts'
import type { ServedJob } from '../served-job.ts'
import { deltasStart } from './deltas-start.ts'
import type { LearnFrom } from './first-observations.ts'
import {
  deltaEnds,
  firstObservations,
  laterObservations,
  requireDeltasOf,
  restoredNext,
} from './learned-before.ts'
import { type ModelJob, requireStartable, type ServeModelOptions, serveModel } from './model.ts'
import { registryOfJob } from './registry-place.ts'

/** Longest time for which the announcement of learning waits for the registry, ms. */
const LONGEST_RECORD_MS = 30_000

/** Options of a job that serves a model and learns it. */
export interface ServeLearningOptions
  extends Omit<ServeModelOptions, 'coordinators' | 'onVersions' | 'onRegistry' | 'companion'> {
  /**
   * Every slot learns on this version, and the registry knows which versions the job can follow, or has not answered for
   * 30 s; called again after every restart. `note`: what it learns at first, if that is not known.
   */
  readonly onLearning?: (version: number, note?: string) => void
  /**
   * Where a job without a checkpoint begins in the observations, if the version does not say it. @default after those
   * that it was trained on; the job fails where it is not known which ones these are
   */
  readonly learnFrom?: LearnFrom | undefined
  /**
   * Receives warnings: about the settings of the model's topics, write-backs that failed, and a version that
   * cannot be learned on. The job serves such a version, and learns on the next one.
   */
  readonly onWarning?: (warning: string) => void
  /** Time between two write-backs of learned rows to the model topic, ms. @default none */
  readonly writeBackMs?: number | undefined
  /**
   * Deletes the deltas that a write-back includes and no retained checkpoint needs: savepoints from before cannot be
   * restored. Needs `writeBackMs`. @default false
   */
  readonly deleteDeltas?: boolean
  /** Rows were written back. */
  readonly onWrittenBack?: (written: WrittenBack) => void
}

/** What a coordinator of learning calls. */
type LearningCallbacks = Required<
  Pick<LearningCoordinatorOptions<never>, 'onLearning' | 'onRefused' | 'onWorse'>
>

/** A job that serves a kind of model and learns it. */
export interface LearningJob<
  O extends Readonly<Record<string, unknown>>,
  M extends LearnableVersion,
  C,
> {
  readonly model: ModelJob<O>
  readonly learned: LearnedModel
  /** What its predictions are compared by with those without learning. */
  readonly loss: string
  /** Makes the coordinator of learning. */
  coordinator(callbacks: LearningCallbacks): LearningCoordinator<M, C>
  readonly observations: string
  /** Topic of refused observations. */
  readonly quarantine: string | undefined
  /** Whether the job sends sums of deltas; undefined for a kind that never does. */
  readonly isSummed?: boolean | undefined
  /** What it can follow: another version is not promoted. */
  readonly follows: Pick<LearningTopic, 'learnsKind' | 'learnsFeedback' | 'learnsPositive'>
  /** The metadata of a version that went live. */
  metadataOf(version: number, marker: ModelVersionMarker): M | Promise<M>
}

/**
 * Starts a job that serves a model and learns it; creates its topics where they are missing. Throws
 * UNKNOWN_TOPIC when no model was published, TOPIC_EXISTS when the topic of the deltas is compacted,
 * INVALID_ARGUMENT when two of its topics are one.
 */
export async function serveLearning<
  O extends Readonly<Record<string, unknown>>,
  M extends LearnableVersion,
  C,
>(job: LearningJob<O, M, C>, options: ServeLearningOptions): Promise<ServedJob> {
  const { observations, quarantine } = job
  const names = quarantine === undefined ? [observations] : [observations, quarantine]
  requireDistinct([options.topic, deltasTopic(options.topic), ...names])
  await requireStartable(job.model, options)
  await createTopics(names, options)
  const ends = options.writeBackMs === undefined ? undefined : await writtenEnds(options)
  const deltas = await deltasStart(job.observations, options)
  const learning: LearningTopic = { ...deltas.learning, ...job.follows }
  const companion = new ResourceStack()
  const records = companion.use(new BackgroundWork(systemClock))
  let versions!: VersionCoordinator
  const notes = new Map<number, string>()
  let isFirst = true
  /** Whether the place in the observations is to be in a checkpoint soon: it was chosen, or another phase begins there. */
  let isChosen = false
  let wasStopped: boolean | undefined
  /** The announcements of learning, one after the other. */
  let announced: Promise<void> = Promise.resolve()
  let asked: WeirError | undefined
  const coordinator = job.coordinator({
    onLearning: (version, isStopped) => {
      versions.learningBegan(version)
      isChosen ||= isStopped !== wasStopped && wasStopped !== undefined
      wasStopped = isStopped
      if (isChosen) void started.promise.then(({ execution }) => keepBeginning(execution, options))
      isChosen = false
      const recorded = recordLearning(learning, options)
      records.add(recorded)
      if (isStopped) {
        options.onWarning?.(stoppedText(version, options.topic))
        return
      }
      const note = notes.get(version)
      notes.delete(version)
      // Who hears of it may promote at once: the registry knows by then what the job can follow.
      announced = Promise.all([
        announced,
        orAfter(systemClock, LONGEST_RECORD_MS, recorded, () => {}),
      ]).then(() => options.onLearning?.(version, note))
      records.add(announced)
    },
    onWorse: (report) => {
      const text = worseText(report, job.loss)
      options.onWarning?.(`${text}, so learning stops`)
      records.add(recordStop(report, text, options))
    },
    onRefused: (refused) => options.onWarning?.(refusedText(refused, job)),
  })
  const writeBack = writeBackOf(job, options, (version) => versions.markerOf(version))
  if (writeBack !== undefined) companion.use(writeBack)
  let applied: Promise<void> | undefined
  const started = Promise.withResolvers<ServedJob>()
  const beginning = firstTime((version: number) =>
    requireDeltasOf(version, { versions, options, job: started.promise }),
  )
  const metadataOf = async (version: number, marker: ModelVersionMarker): Promise<M> => {
    try {
      await beginning(version)
      const made = await job.metadataOf(version, versions.markerOf(version) ?? marker)
      const { execution } = await started.promise
      const earlier =
        job.isSummed === undefined
          ? {}
          : {
              deltaEnds: await deltaEnds(options),
              restoredNext: isFirst ? restoredNext(version, execution, job.learned) : undefined,
            }
      const metadata = { ...made, ...earlier }
      const hasCheckpoint = execution.checkpointStatistics?.latestRestored !== undefined
      const isLater = !isFirst
      isFirst = false
      const begun = { version, marker: versions.markerOf(version) ?? marker, observations, options }
      if (isLater) {
        const later = await laterObservations(begun)
        if (later?.note !== undefined) notes.set(version, later.note)
        return later !== undefined && 'offsets' in later
          ? { ...metadata, resumeOffsets: later.offsets }
          : metadata
      }
      if (hasCheckpoint) return metadata
      if (deltas.before !== undefined) options.onWarning?.(startsOver(options.topic, deltas.before))
      const first = await firstObservations(begun)
      if (first.kind === 'ask') {
        const question = `version ${version} of ${options.topic}: ${first.question}`
        asked = new WeirError('INVALID_ARGUMENT', question)
        execution.failed(asked)
        throw asked
      }
      if (first.note !== undefined) notes.set(version, first.note)
      isChosen = first.kind === 'at'
      return 'offsets' in first ? { ...metadata, resumeOffsets: first.offsets } : metadata
    } catch (error) {
      const { code, message } = asWeirError(error, 'OPERATOR_FAILED')
      // The end of the job says what is asked.
      if (error !== asked) {
        options.onWarning?.(`learning does not begin on version ${version} (${code}: ${message})`)
      }
      throw error
    }
  }
  const model = deltas.offsets === undefined ? job.model : withDeltasFrom(job.model, deltas.offsets)
  const served = await serveModel(model, {
    ...options,
    coordinators: coordinator.coordinators,
    onVersions: (made) => {
      versions = made
    },
    onRegistry: (registered) => {
      for (const { number, learning: { phase } = { phase: 0 } } of registered) {
        coordinator.setPhase(number, phase)
      }
    },
    companion,
    onLive: (version, marker, rows) => {
      options.onLive(version, marker, rows)
      const learn = (): void => coordinator.live(version, metadataOf(version, marker))
      if (ends === undefined) return learn()
      // Rows that were written back come after those of the training.
      applied ??= versions.whenApplied(ends)
      void applied.then(async () => {
        learn()
        await writeBack?.replaceGivenUp()
      })
    },
  })
  started.resolve(served)
  writeBack?.start(served.execution)
  served.execution.onStatus(({ to }) => {
    if (to === 'SUSPENDED') coordinator.close()
    if (writeBack !== undefined && ENDED.has(to)) versions.close()
  })
  return served
}

/** The job, which reads the deltas of its model from these offsets on. */
function withDeltasFrom<O extends Readonly<Record<string, unknown>>>(
  model: ModelJob<O>,
  deltasFrom: readonly number[],
): ModelJob<O> {
  return { ...model, options: (...given) => ({ ...model.options(...given), deltasFrom }) }
}

function startsOver(model: string, before: string): string {
  return `${model} was learned from another topic before (${before}): learning begins on the rows as they are in topic ${model}; what was learned there and is not written back is left out`
}

/**
 * Puts the place where a job began in the observations into a checkpoint: a job that fails before its first one would choose
 * another place, and forget what is between.
 */
async function keepBeginning(
  execution: ServedJob['execution'],
  { onWarning }: ServeLearningOptions,
): Promise<void> {
  try {
    await execution.triggerCheckpoint()
  } catch (error) {
    if (execution.status !== 'RUNNING') return
    onWarning?.(
      `the place where learning begins is not in a checkpoint yet (${messageOf(error)}); a job that fails before its first checkpoint begins elsewhere`,
    )
  }
}

/** Write-backs of a job that is to have them. */
function writeBackOf(
  {
    learned,
    observations,
    isSummed,
  }: {
    readonly learned: LearnedModel
    readonly observations: string
    readonly isSummed?: boolean | undefined
  },
  options: ServeLearningOptions,
  markerOf: (version: number) => ModelVersionMarker | undefined,
): WriteBack | undefined {
  const { topic, data, place = { logDirectory: data.log }, writeBackMs, onWarning } = options
  const { deleteDeltas = false } = options
  requireArgument(
    !deleteDeltas || writeBackMs !== undefined,
    'deltas are deleted when they are written back; add --write-back SECONDS',
  )
  if (writeBackMs === undefined) return undefined
  return new WriteBack({
    ...{ model: learned, place, topic, observations, everyMs: writeBackMs, markerOf },
    clock: systemClock,
    isSummed,
    deleteFrom: deleteDeltas ? deltasTopic(topic) : undefined,
    onNotDeleted: ({ code, message }) =>
      onWarning?.(`deltas were not deleted (${code}: ${message}); the next write-back tries again`),
    onWritten: options.onWrittenBack,
    onFailed: ({ code, message }) =>
      onWarning?.(
        `learned rows were not written back (${code}: ${message}); the next try writes them, now or when the job is started again`,
      ),
    onLeftOut: (status) =>
      onWarning?.(
        `the job is ${status}: what it learned since the last write-back is not in topic ${topic}; start it again from its latest checkpoint, and stop it with "weir stop"`,
      ),
  })
}

async function createTopics(
  names: readonly string[],
  { topic, data, place = { logDirectory: data.log }, onWarning }: ServeLearningOptions,
): Promise<void> {
  await using topics = await openTopics(place)
  await createKeptTopics(topics, [...names, deltasTopic(topic)])
  for (const warning of await checkModelTopics(topics, topic)) onWarning?.(warning)
}

/** Throws INVALID_ARGUMENT if one topic has two purposes: a job must not read what it refuses or learns. */
function requireDistinct(names: readonly string[]): void {
  const twice = names.find((name, n) => names.indexOf(name) !== n)
  requireArgument(
    twice === undefined,
    `topic "${twice}" is named for two purposes; rows, deltas, observations and refused observations need a topic each`,
  )
}

/** Says in the registry what the model is learned from: a retraining must read the same topic. */
async function recordLearning(
  learning: LearningTopic,
  options: ServeLearningOptions,
): Promise<void> {
  const { topic: name, onWarning } = options
  const { learnsFrom } = learning
  const registry = registryOfJob(options)
  try {
    const known = (await registry.read()).models.get(name)
    if (known !== undefined && isSameLearning(known, learning)) return
    await registry.execute({ kind: 'record-learning', name, learning })
  } catch (error) {
    onWarning?.(
      `the registry does not know that ${name} is learned from ${learnsFrom} (${messageOf(error)}); give "weir retrain" --observations ${learnsFrom}`,
    )
  }
}

function worseText({ version, loss, frozenLoss }: WorseReport, name: string): string {
  return `what was learned on version ${version} makes its predictions certainly worse (${name} ${loss.toPrecision(4)}, without learning ${frozenLoss.toPrecision(4)})`
}

function stoppedText(version: number, topic: string): string {
  return `learning on version ${version} is stopped: the version is served as it was published, and observations are not learned; "weir learn resume --model ${topic}" lets the job learn again`
}

/** Says in the registry that learning on a version is stopped: there it is resumed. */
async function recordStop(
  { version: number, phase }: WorseReport,
  text: string,
  options: ServeLearningOptions,
): Promise<void> {
  const { topic: name, onWarning } = options
  const learning = { phase: phase + 1, atMs: systemClock.nowMs(), text }
  try {
    const registry = registryOfJob(options)
    await registry.execute({ kind: 'record-phase', name, number, learning })
  } catch (error) {
    onWarning?.(
      `the registry does not know that learning on version ${number} is stopped (${messageOf(error)}); start the job again before "weir learn resume"`,
    )
  }
}

/** Runs work at the first call only. */
function firstTime<A>(work: (argument: A) => Promise<void>): (argument: A) => Promise<void> {
  let done: Promise<void> | undefined
  return (argument) => {
    done ??= work(argument)
    return done
  }
}

/** Drops what a write-back that was killed has left; returns the ends of the model topic, by partition. */
async function writtenEnds({
  topic,
  data,
  place = { logDirectory: data.log },
}: ServeLearningOptions): Promise<readonly number[]> {
  await using topics = await openTopics(place)
  if (!(await topics.has(topic))) return []
  await dropUnfinished(topics, topic)
  return (await topics.bounds(topic)).map(({ end }) => end)
}

const ENDED: ReadonlySet<JobStatus> = new Set(['SUSPENDED', 'FINISHED', 'CANCELED', 'FAILED'])
