import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openTopics, type TopicsPlace } from '../connectors/topics/open-topics.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import type { Clock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import type { OnlineRuleOptions } from '../models/online-rules.ts'
import { CANDIDATE } from '../models/registry-adopt.ts'
import { processingName } from '../models/registry-processing-name.ts'
import {
  type DataRange,
  type Hyperparameters,
  liveVersionOf,
  type RegisteredVersion,
  type RegistryState,
  versionsOf,
} from '../models/registry-version.ts'
import type { ModelReader } from '../wire/model-reader.ts'
import { ALS_MODEL } from './als-serving-function.ts'
import { openModelFile, publishableRows } from './model-file-io.ts'
import { type ModelRegistry, outcomeError } from './model-registry.ts'
import {
  type GoldenSet,
  type PromotionChecks,
  type PromotionChecksOptions,
  type PromotionLimits,
  runPromotionChecks,
  untilLoaded,
} from './promotion-checks.ts'
import { publishModel } from './publish-model.ts'
import { writeLiveRows } from './retrain-live-rows.ts'
import type { RetrainAlsOptions, TrainedFacts } from './retrain-messages.ts'
import { newestOf, offsetsIn, rangesAfter, rangesOfTopic } from './retrain-observations.ts'
import type { TrainingProcess } from './retrain-process.ts'
import { putRows } from './retrain-publish.ts'

/** Trainer and its revision, part of processing names. */
export const ALS_CODE = 'als/1'

/** Rounds of replay at most, before and after the rows are published. */
const MAX_ROUNDS = 5

/** Options of `retrain`. */
export interface RetrainOptions {
  /** Where model topic and observations are. */
  readonly place: TopicsPlace
  readonly registry: ModelRegistry
  /** Model: the topic of its rows. */
  readonly model: string
  /** Topic of observations. */
  readonly observations: string
  readonly als: RetrainAlsOptions
  /** How observations after the range are learned. */
  readonly rule: OnlineRuleOptions
  /** The serving job: for the warm start and the checks; without it neither is done. */
  readonly reader?: ModelReader
  /** Starts from the live version's rows as they are now. @default true */
  readonly warmStart?: boolean
  /** What candidate and live are compared on; without it the candidate is not promoted. */
  readonly golden?: GoldenSet
  readonly limits?: PromotionLimits
  /** Folder for files that are deleted at the end. */
  readonly temporary: string
  /** Starts the process that trains. */
  readonly start: () => TrainingProcess
  readonly newId: () => string
  readonly clock: Clock
  /** Ranges to train on. @default all that the topic holds */
  readonly ranges?: readonly DataRange[]
  /** Of them the newest so many offsets alone: what is older speaks of another world. @default all */
  readonly newest?: number
  readonly onStep?: (step: string) => void
}

/** What became of a retraining. */
export type RetrainOutcome =
  | { readonly kind: 'nothing-to-train-on' }
  /** The same inputs gave this version before: no work was done. */
  | { readonly kind: 'exists'; readonly version: RegisteredVersion }
  /** Trained and registered; without golden set or serving job nobody checked it. */
  | { readonly kind: 'candidate'; readonly version: RegisteredVersion }
  /** Trained and checked; the promotion was refused. */
  | {
      readonly kind: 'refused'
      readonly version: RegisteredVersion
      readonly reason: string
      readonly checks: PromotionChecks
    }
  | {
      readonly kind: 'promoted'
      readonly version: RegisteredVersion
      readonly checks: PromotionChecks
      /** Observations since its last replay, by the time of the switch: a job that learns goes on with them. */
      readonly gap: number
    }

/**
 * One retraining from beginning to end: a bounded range of observations is trained on in a process of
 * its own, from the live rows; what came since is learned on the candidate; it is published beside the
 * live version, checked against it, and promoted. Learning and serving go on all the while.
 */
export async function retrain(options: RetrainOptions): Promise<RetrainOutcome> {
  await using topics = await openTopics(options.place)
  const { observations, registry, model } = options
  const whole = options.ranges ?? (await rangesOfTopic(topics, observations))
  const ranges = options.newest === undefined ? whole : newestOf(whole, options.newest)
  if (offsetsIn(ranges) === 0) return { kind: 'nothing-to-train-on' }
  const hyperparameters = parametersOf(options.als)
  const name = processingName({ ranges, files: [], code: ALS_CODE, hyperparameters })
  const state = await registry.read()
  const known = versionsOf(state, model).find(
    (version) => version.processingName === name && version.state !== 'retired',
  )
  if (known !== undefined) return { kind: 'exists', version: known }
  const folder = join(options.temporary, name)
  await mkdir(folder, { recursive: true })
  try {
    return await new Retraining(options, topics, { folder, name, ranges, state }).run()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What the rows depend on: not the number of threads. */
function parametersOf({ threads: _, ...parameters }: RetrainAlsOptions): Hyperparameters {
  return parameters
}

interface RetrainingInputs {
  readonly folder: string
  readonly name: string
  readonly ranges: readonly DataRange[]
  readonly state: RegistryState
}

/** One run of `retrain`. */
class Retraining {
  private readonly options: RetrainOptions
  private readonly topics: TopicStore
  private readonly inputs: RetrainingInputs
  /** Ranges learned so far: trained on, then replayed. */
  private learned: readonly DataRange[]
  private replayed: readonly DataRange[] = []
  private newestEventMs = -1

  constructor(options: RetrainOptions, topics: TopicStore, inputs: RetrainingInputs) {
    this.options = options
    this.topics = topics
    this.inputs = inputs
    this.learned = inputs.ranges
  }

  async run(): Promise<RetrainOutcome> {
    const { options, inputs } = this
    const parent = liveVersionOf(inputs.state, options.model)
    const startingRows = await this.startingRows(parent)
    await using process = options.start()
    this.step(`training on ${offsetsIn(inputs.ranges)} observations`)
    const { place, als, rule } = options
    const { facts } = await process.ask({
      kind: 'train',
      place,
      ranges: inputs.ranges,
      als,
      rule,
      ...(startingRows === undefined ? {} : { startingRows }),
    })
    this.newestEventMs = facts.newestEventMs
    await this.catchUp(process)
    const number = await this.publish(process, facts)
    await this.catchUp(process, number)
    const candidate = this.versionOf(number, facts, startingRows === undefined ? undefined : parent)
    return await this.judge(process, candidate, parent?.number ?? 0)
  }

  private step(text: string): void {
    this.options.onStep?.(text)
  }

  /** The live version's rows as they are now, in a file. */
  private async startingRows(parent: RegisteredVersion | undefined): Promise<string | undefined> {
    const { reader, warmStart = true } = this.options
    if (reader === undefined || parent === undefined || !warmStart) return undefined
    const file = join(this.inputs.folder, 'live.rows')
    const rows = await writeLiveRows(reader, ALS_MODEL, {
      version: parent.number,
      dimension: parent.dimension,
      file,
    })
    this.step(`warm start from ${rows} rows of version ${parent.number}`)
    return rows === 0 ? undefined : file
  }

  /** Learns what came since, until hardly anything comes meanwhile; with `version` the rows follow. */
  private async catchUp(process: TrainingProcess, version?: number): Promise<void> {
    const { observations, model, clock } = this.options
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const ranges = await rangesAfter(this.topics, observations, this.learned)
      if (ranges.length === 0) return
      const answer = await process.ask({ kind: 'replay', ranges })
      this.learned = joined(this.learned, ranges)
      this.replayed = joined(this.replayed, ranges)
      this.newestEventMs = answer.newestEventMs
      this.step(`replayed ${answer.observations} observations`)
      if (version !== undefined) {
        await putRows(this.topics, model, { version, rows: answer.rows, clock })
      }
    }
  }

  private async publish(process: TrainingProcess, facts: TrainedFacts): Promise<number> {
    const file = join(this.inputs.folder, 'candidate.rows')
    const { users, items } = await process.ask({ kind: 'write', file })
    const opened = await openModelFile(file)
    const number = await this.nextNumber()
    this.step(`publishing ${users + items} rows as version ${number}`)
    const { dimension, biased, globalMean, minRating, maxRating, metrics } = facts
    const rows = {
      dimension,
      users,
      items,
      rows: () => publishableRows(opened),
    }
    const { als, clock, model } = this.options
    const hyperparameters = { ...parametersOf(als), [CANDIDATE]: true }
    await publishModel(rows, {
      log: this.topics,
      topic: model,
      version: number,
      facts: {
        name: ALS_MODEL,
        biased,
        globalMean,
        minRating,
        maxRating,
        hyperparameters,
        metrics,
      },
      clock,
    })
    return number
  }

  private async nextNumber(): Promise<number> {
    const { registry, model } = this.options
    return (versionsOf(await registry.read(), model).at(-1)?.number ?? 0) + 1
  }

  /** The candidate as it would be registered now. */
  private versionOf(
    number: number,
    facts: TrainedFacts,
    parent: RegisteredVersion | undefined,
  ): RegisteredVersion {
    const { options, inputs } = this
    const nowMs = options.clock.nowMs()
    return {
      name: options.model,
      processingName: inputs.name,
      id: options.newId(),
      number,
      topic: options.model,
      createdMs: nowMs,
      dimension: facts.dimension,
      users: facts.users,
      items: facts.items,
      lineage: {
        ranges: inputs.ranges,
        files: [],
        ...(parent === undefined
          ? {}
          : { parent: parent.id, checkpoint: `live rows of version ${parent.number}` }),
        code: ALS_CODE,
        hyperparameters: parametersOf(options.als),
        metrics: facts.metrics,
        newestEventMs: this.newestEventMs,
      },
      state: 'candidate',
      checks: [],
      notes: [{ atMs: nowMs, event: 'registered' }],
    }
  }

  /** Checks the candidate, replays what came meanwhile, registers it whole, and promotes it. */
  private async judge(
    process: TrainingProcess,
    candidate: RegisteredVersion,
    live: number,
  ): Promise<RetrainOutcome> {
    const checks = await this.check(candidate, live)
    await this.catchUp(process, candidate.number)
    // A replayed row that came after the switch would undo what was learned on it by then.
    const loading = checks && (await this.checksOf(candidate, live))
    if (loading !== undefined) await untilLoaded(loading)
    const { replayed, newestEventMs } = this
    const version: RegisteredVersion = {
      ...candidate,
      lineage: { ...candidate.lineage, newestEventMs, replayed },
      checks: checks?.checks ?? [],
    }
    const { registry, clock } = this.options
    const { outcome } = await registry.require({ kind: 'register', version })
    if (outcome.kind === 'exists') return { kind: 'exists', version: outcome.version }
    if (checks === undefined) return { kind: 'candidate', version }
    const { name, number } = version
    const atMs = clock.nowMs()
    const command = { kind: 'promote', name, number, expectedLive: live, atMs } as const
    const promotion = await registry.execute(command)
    const error = outcomeError(promotion.outcome, command)
    if (error !== undefined) return { kind: 'refused', version, reason: error.message, checks }
    return { kind: 'promoted', version, checks, gap: await this.gap() }
  }

  private async check(
    version: RegisteredVersion,
    live: number,
  ): Promise<PromotionChecks | undefined> {
    const options = await this.checksOf(version, live)
    if (options === undefined) return undefined
    this.step(`checking version ${version.number} against ${live === 0 ? 'none' : live}`)
    return await runPromotionChecks(options)
  }

  /** What the checks need; undefined without a golden set or a job that serves. */
  private async checksOf(
    version: RegisteredVersion,
    live: number,
  ): Promise<PromotionChecksOptions | undefined> {
    const { reader, golden, limits, clock } = this.options
    if (reader === undefined || golden === undefined) return undefined
    return {
      reader,
      state: ALS_MODEL,
      version,
      live,
      golden,
      positions: await this.positions(),
      ...(limits === undefined ? {} : { limits }),
      clock,
    }
  }

  private async gap(): Promise<number> {
    const { observations } = this.options
    return offsetsIn(await rangesAfter(this.topics, observations, this.learned))
  }

  private async positions() {
    const bounds = await this.topics.bounds(this.options.model)
    return bounds
      .filter(({ end }) => end > 0)
      .map(({ partition, end }) => ({ partition, offset: end - 1 }))
  }
}

/** Ranges of one topic, each partition's as one. Throws ILLEGAL_STATE where they leave a gap. */
function joined(before: readonly DataRange[], after: readonly DataRange[]): readonly DataRange[] {
  const byPartition = new Map(before.map((range) => [range.partition, range]))
  for (const range of after) {
    const known = byPartition.get(range.partition)
    if (known !== undefined && known.to > range.from) {
      throw new WeirError('ILLEGAL_STATE', 'ranges of observations overlap')
    }
    byPartition.set(range.partition, { ...range, from: known?.from ?? range.from })
  }
  return [...byPartition.values()].sort((a, b) => a.partition - b.partition)
}
