import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withoutSettings } from '../../connectors/file/list.ts'
import { openTopics } from '../../connectors/topics/open.ts'
import type { PartitionBounds, TopicStore } from '../../connectors/topics/store.ts'
import { WeirError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options/shape.ts'
import type { TrainedModelMetadata } from '../../kinds/port/trainer.ts'
import { kindOf } from '../../kinds/registered.ts'
import {
  comparedRecords,
  formOf,
  type ObservationForm,
  readRanges,
} from '../../models/observations/compared-records.ts'
import { type HistoryFiles, historyHashes, readingName } from '../../models/observations/history.ts'
import { leftOutText, linesLeftOutText } from '../../models/observations/left-out.ts'
import {
  identified,
  newestOf,
  offsetsIn,
  offsetsOnlyIn,
  rangesOfTopic,
} from '../../models/observations/topic-ranges.ts'
import { requireDimension } from '../../models/publish/topic-dimension.ts'
import {
  type KnownVersion,
  type ProcessingInputs,
  processingName,
  versionOfInputs,
} from '../../models/registry/processing-name.ts'
import type { DataFile, DataRange } from '../../models/registry/ranges/data-range.ts'
import {
  liveVersionOf,
  type RegisteredVersion,
  type RegistryState,
  versionsOf,
} from '../../models/registry/version.ts'
import { collectUnfinished } from '../../models/retention/unfinished.ts'
import { Publication } from '../../models/topic/publication.ts'
import { outcomeError } from '../../models/versions/model-registry.ts'
import { chosenHalfLifeText } from '../../training/als/choose-half-life.ts'
import { loadingVersion, type PromotionChecks, recordGolden } from '../promotion/checks.ts'
import { untilLoaded } from '../promotion/serving-probe.ts'
import { removeAbandoned } from './abandoned-folders.ts'
import { archivedHistory } from './archived-history.ts'
import { candidateVersion, publishCandidate } from './candidate.ts'
import { CandidateChecks, checkAgain } from './candidate-checks.ts'
import { learnedGap } from './learned-gap.ts'
import { writeLiveRows } from './live-rows.ts'
import { RETRAIN, type RetrainOptions, type RetrainOutcome } from './options.ts'
import { CandidateReplay } from './replay.ts'

/**
 * One complete retraining. A separate process trains on a bounded range of observations, starting from
 * the live rows. The candidate learns later observations online, is published beside the live version,
 * checked against it, and promoted. Learning and serving continue meanwhile. Before that, candidates of
 * retrainings that were killed are deleted. Throws INVALID_ARGUMENT where the topic no longer has what a job has learned,
 * unless that may be forgotten.
 */
export async function retrain(options: RetrainOptions): Promise<RetrainOutcome> {
  checkOptions('retrain', RETRAIN, options)
  kindOf(options)
  return await retrainWith(options)
}

/** As `retrain`, with options that were checked, and perhaps others among them. */
export async function retrainWith(given: RetrainOptions): Promise<RetrainOutcome> {
  await using topics = await openTopics(given.place)
  const { observations, model } = given
  const archived = await archivedHistory(topics, observations, given.history)
  const named = Object.assign({ ...given }, await kindOf(given).withFiles?.(given, given.place))
  const options = archived.history === undefined ? named : { ...named, history: archived.history }
  await collect(topics, options)
  const state = await options.registry.read()
  if (options.forgetLearned !== true)
    await requireLearned(topics, options, { state, bounds: archived.bounds })
  await requireShape(topics, options)
  const whole =
    options.ranges === undefined
      ? archived.after(await rangesOfTopic(topics, observations))
      : await identified(topics, options.ranges)
  const ranges = options.newest === undefined ? whole : newestOf(whole, options.newest)
  const { history } = options
  if (offsetsIn(ranges) === 0 && history === undefined) return { kind: 'nothing-to-train-on' }
  const inputs = {
    ranges,
    ...(history === undefined ? { files: [] } : await historyInputs(history)),
    code: kindOf(options).code(options),
    hyperparameters: kindOf(options).parameters(options),
  }
  const live = liveVersionOf(state, model)
  const parent = startsFrom(options, live)?.id
  // After a promotion the new version is live: a training from its rows would have no news either.
  const parents = [parent, ...(options.warmStart === false ? [] : [live?.lineage.parent])]
  const { known, given: inputsNow } = await knownVersion(topics, inputs, {
    versions: versionsOf(state, model),
    parents,
    options,
  })
  if (known?.isAssumed === true) options.onStep?.(takenForTopic(known.version, topics.place))
  if (known !== undefined)
    return await checkAgain(options, topics, { state, version: known.version })
  const nameOf = (files: readonly DataFile[]): string =>
    processingName({ ...inputsNow, files, parent })
  const name = nameOf(inputsNow.files)
  const folder = join(options.temporary, `${process.pid}-${name}`)
  await removeAbandoned(options.temporary, options.clock.nowMs())
  await mkdir(folder, { recursive: true })
  try {
    return await new Retraining(options, topics, { folder, nameOf, whole, ranges, state }).run()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Throws DIMENSION_MISMATCH, before the time of a training, for rows that the topic cannot have. */
async function requireShape(topics: TopicStore, options: RetrainOptions): Promise<void> {
  const made = kindOf(options).dimension(options)
  if (made === undefined) return
  const remedy = (held: number): string =>
    `give the training options that make rows of ${held} floats, or train under another name of the model`
  await requireDimension(topics, options.model, { made, remedy })
}

/** What a history is among the inputs of a version. */
async function historyInputs(
  history: HistoryFiles,
): Promise<Pick<ProcessingInputs, 'files' | 'reading'>> {
  const files = await historyHashes(history)
  const reading = readingName(history)
  return { files, ...(reading === undefined ? {} : { reading }) }
}

/** Throws INVALID_ARGUMENT if the topic no longer has what a job has learned on the live version. */
async function requireLearned(
  topics: TopicStore,
  { observations, model }: RetrainOptions,
  { state, bounds }: { readonly state: RegistryState; readonly bounds: readonly PartitionBounds[] },
): Promise<void> {
  const live = liveVersionOf(state, model)
  const learning = state.models.get(model)
  if (live === undefined || learning === undefined) return
  const present = { topic: observations, id: (await topics.identity(observations)).id }
  const gap = learnedGap({ learning, live, present, bounds })
  if (gap === undefined) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${gap}: a version that is trained on what is left forgets what was learned; keep records until the next training, or say so with --forget-learned`,
  )
}

/**
 * The version that was made from these inputs. One that has read other records at the same offsets is none: then the inputs
 * are told apart by what the topic has there now.
 */
async function knownVersion(
  topics: TopicStore,
  inputs: ProcessingInputs,
  {
    versions,
    parents,
    options,
  }: {
    readonly versions: readonly RegisteredVersion[]
    readonly parents: readonly (string | undefined)[]
    readonly options: RetrainOptions
  },
): Promise<{ readonly known: KnownVersion | undefined; readonly given: ProcessingInputs }> {
  const others = new Set<number>()
  let form: ObservationForm | undefined
  for (;;) {
    const left = versions.filter(({ number }) => !others.has(number))
    const known = versionOfInputs(left, inputs, parents)
    if (known === undefined) break
    const { number, lineage } = known.version
    form = formOf(known.version)
    const compared = await comparedRecords(topics, lineage.ranges, { ...form, part: 'all' })
    // What was erased must leave the model, too: then it is trained again at the same offsets.
    const isOther = compared.kind === 'other' || compared.kind === 'erased'
    if (!isOther) return { known, given: inputs }
    options.onStep?.(
      `version ${number} was trained at the same offsets, but on other records: ${compared.what}`,
    )
    others.add(number)
  }
  if (form === undefined) return { known: undefined, given: inputs }
  const ranges = await readRanges(topics, inputs.ranges, form)
  const given = { ...inputs, ranges, withDigests: true }
  return { known: versionOfInputs(versions, given, parents), given }
}

function takenForTopic({ number, lineage }: RegisteredVersion, place: string): string {
  return `version ${number} does not say the id of the topic that it was trained on: topic ${lineage.ranges[0]?.topic} of ${place} is taken for it`
}

/** Deletes what retrainings and publications that were killed, or that failed, have left. */
async function collect(
  topics: TopicStore,
  { registry, model, clock, onStep }: RetrainOptions,
): Promise<void> {
  const onFound = (versions: readonly number[]): void =>
    onStep?.(`deleting version ${versions.join(', ')}, which was left unfinished`)
  await collectUnfinished(topics, { registry, model, clock, onFound })
}

interface RetrainingInputs {
  readonly folder: string
  /** Processing name of the candidate, trained on these files besides the ranges. */
  readonly nameOf: (files: readonly DataFile[]) => string
  /** All that could be trained on, and what of it is. */
  readonly whole: readonly DataRange[]
  readonly ranges: readonly DataRange[]
  readonly state: RegistryState
}

/** The version whose rows a training starts from; undefined for random rows. */
function startsFrom(
  options: RetrainOptions,
  live: RegisteredVersion | undefined,
): RegisteredVersion | undefined {
  const canStart = mayStartFromRows(options) && live !== undefined
  return canStart && kindOf(options).coldStart?.(options, live) === undefined ? live : undefined
}

/** Whether a training starts from live rows, if there are some that it can start from. */
function mayStartFromRows(options: RetrainOptions): boolean {
  const { reader, warmStart = true } = options
  return warmStart && reader !== undefined && kindOf(options).startsFromRows(options)
}

/** The candidate's errors, for its record. */
function goldenOf(
  checks: PromotionChecks | undefined,
  candidate: number,
): Pick<RegisteredVersion, 'golden'> {
  const found = checks?.golden.find(({ number }) => number === candidate)
  return found === undefined ? {} : { golden: found.golden }
}

/** The files of a training, in words. */
function historyText({ history }: RetrainOptions): string {
  if (history === undefined) return ''
  return ` of the topic, after those of ${history.places.map(withoutSettings).join(', ')}`
}

/** One run of `retrain`. */
class Retraining {
  private readonly options: RetrainOptions
  private readonly topics: TopicStore
  private readonly inputs: RetrainingInputs
  private readonly checks: CandidateChecks

  constructor(options: RetrainOptions, topics: TopicStore, inputs: RetrainingInputs) {
    this.options = options
    this.topics = topics
    this.inputs = inputs
    this.checks = new CandidateChecks(options, topics, inputs.state)
  }

  async run(): Promise<RetrainOutcome> {
    const { options, topics } = this
    const { folder, nameOf, ranges, state } = this.inputs
    const live = liveVersionOf(state, options.model)
    const startingRows = await this.startingRows(live)
    await using process = options.start()
    this.step(`training on ${offsetsIn(ranges)} observations${historyText(options)}`)
    this.sayLeftOut(live, startingRows !== undefined)
    const { place, observations, model, clock, history } = options
    const training = kindOf(options).training(options, { live, startingRows })
    const older = history === undefined ? {} : { history }
    const data = { place, ranges, ...older }
    const { metadata } = await process.ask({ kind: 'train', ...data, ...training })
    const { leftOut } = metadata
    if (leftOut !== undefined) this.step(leftOutText(leftOut, observations))
    this.sayRead(metadata)
    const onStep = (step: string): void => this.step(step)
    const source = { process, topics, observations, model, clock, onStep }
    const read = metadata.ranges
    const replay = new CandidateReplay(source, read, metadata.newestEventMs)
    await this.catchUp(replay)
    using publication = new Publication()
    const trained = { process, metadata, folder, publication: publication.name }
    const number = await publishCandidate(trained, topics, options)
    await this.catchUp(replay, number)
    const warmStart = startingRows === undefined ? undefined : live
    // Files may have changed since they were hashed: the name is of what was read.
    const name = nameOf(metadata.files.map(({ file }) => file))
    const inputs = { number, name, ranges: read, warmStart, newestEventMs: replay.newestEventMs }
    const candidate = candidateVersion(metadata, inputs, options)
    return await this.judge(candidate, live?.number ?? 0, replay)
  }

  /** Replays new observations, unless they are left to the job that learns the model. */
  private async catchUp(replay: CandidateReplay, version?: number): Promise<void> {
    if (kindOf(this.options).learnsBefore) await replay.catchUp(version)
  }

  private step(text: string): void {
    this.options.onStep?.(text)
  }

  /** Says what the files are like, and how much of the topic they have, too. */
  private sayRead({ files, found, repeated = 0, device = 'cpu' }: TrainedModelMetadata): void {
    const chosen = found?.['chosenHalfLifeMs']
    if (typeof chosen === 'number') this.step(`half-life: ${chosenHalfLifeText(chosen)}`)
    if (device !== 'cpu') this.step(`trained on the ${device}`)
    for (const { file, columns, leftOut } of files) {
      if (columns !== undefined) this.step(`columns of ${file.file}: ${columns}`)
      if (leftOut !== undefined) this.step(linesLeftOutText(leftOut, file.file))
    }
    if (repeated === 0) return
    this.step(
      `${repeated} ratings of topic ${this.options.observations} are of pairs that the files have, too: a rating that is in both counts twice`,
    )
  }

  /** Says what the newest observations lack of those that the live version knows. */
  private sayLeftOut(live: RegisteredVersion | undefined, isWarm: boolean): void {
    const { model, observations } = this.options
    const { whole, ranges, state } = this.inputs
    const count = offsetsIn(whole) - offsetsIn(ranges)
    if (count === 0 || live === undefined) return
    const isLearned = state.models.get(model)?.learnsFrom === observations
    const known = isLearned ? count : offsetsOnlyIn(whole, ranges, live.lineage.ranges)
    if (known === 0) return
    const kept = isWarm
      ? 'the candidate has of them what the rows of that version say, from which it starts'
      : 'the candidate forgets them'
    this.step(
      `the newest ${offsetsIn(ranges)} of ${offsetsIn(whole)} observations leave out ${known} that version ${live.number} was trained on or has learned: ${kept}`,
    )
  }

  /** Writes the current rows of the live version into a file; undefined without a warm start. */
  private async startingRows(live: RegisteredVersion | undefined): Promise<string | undefined> {
    const { options } = this
    const { reader } = options
    if (reader === undefined || live === undefined || !mayStartFromRows(options)) return undefined
    const why = kindOf(options).coldStart?.(options, live)
    if (why !== undefined) {
      this.step(`cold start, from random rows: ${why}`)
      return undefined
    }
    const file = join(this.inputs.folder, 'live.rows')
    const { number: version, dimension } = live
    const rows = await writeLiveRows(reader, kindOf(options).state, {
      version,
      dimension,
      file,
    })
    this.step(`warm start from ${rows} rows of version ${version}`)
    return rows === 0 ? undefined : file
  }

  /** Checks the candidate, replays what arrived meanwhile, registers the candidate, and promotes it. */
  private async judge(
    candidate: RegisteredVersion,
    live: number,
    replay: CandidateReplay,
  ): Promise<RetrainOutcome> {
    const checks = await this.checks.run(candidate, live)
    await this.catchUp(replay, candidate.number)
    // A replayed row that is applied after the switch would undo what was learned on it by then.
    const loading = checks && (await this.checks.optionsFor(candidate, live))
    if (loading !== undefined) await untilLoaded(loadingVersion(loading))
    const { replayed, newestEventMs } = replay
    const version: RegisteredVersion = {
      ...candidate,
      lineage: { ...candidate.lineage, newestEventMs, replayed },
      checks: checks?.checks ?? [],
      ...goldenOf(checks, candidate.number),
    }
    const { registry, clock } = this.options
    await recordGolden(registry, candidate.name, checks)
    const { outcome } = await registry.require({ kind: 'register', version })
    if (outcome.kind === 'exists') return { kind: 'exists', version: outcome.version }
    if (checks === undefined) return { kind: 'candidate', version }
    const { name, number } = version
    const atMs = clock.nowMs()
    const command = { kind: 'promote', name, number, expectedLive: live, atMs } as const
    const promotion = await registry.execute(command)
    const error = outcomeError(promotion.outcome, command)
    if (error !== undefined) return { kind: 'refused', version, reason: error.message, checks }
    return { kind: 'promoted', version, checks, gap: await replay.gap() }
  }
}
