import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { LearnedRow } from '../../models/als/online/rule.ts'
import {
  type OnlineRuleOptions,
  onlineRule,
  withGlobalMean,
} from '../../models/als/online/rules.ts'
import { SequentialLearner } from '../../models/als/online/sequential-learner.ts'
import { alsKey, idOfKey, kindOfKey } from '../../models/als/row-key.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import { newestOf } from '../../models/registry/ranges/trained-on.ts'
import { learnableModel, momentsOf } from '../../training/als/learnable-model.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import type { StartingRows } from '../../training/als/solver/options.ts'
import { trainAls } from '../../training/als/train.ts'
import { trainBmf } from '../../training/bmf/train.ts'
import { type RatingsTable, RatingsTableBuilder } from '../../training/data/ratings-table.ts'
import { type LeftOut, LeftOutRecords } from '../observations/left-out.ts'
import { RangesReading } from '../observations/ranges-reading.ts'
import { readObservations } from '../observations/topic-ranges.ts'
import { openModelFile, writeModelFile } from '../publish/file-io.ts'
import { dataMetrics } from '../registry/data-metrics.ts'
import {
  alsOptionsIn,
  bmfOptionsIn,
  type ChangedRow,
  type RetrainAlsOptions,
  type TrainedModelMetadata,
  type TrainerAnswer,
  type TrainerRequest,
} from './messages.ts'
import type { ModelTrainer } from './model-trainer.ts'

type TrainRequest = Extract<TrainerRequest, { kind: 'train'; als: unknown }>

/**
 * Trains an ALS model on ranges of ratings, then learns later ratings online on the new rows, until they
 * are as fresh as those of the live version.
 */
export class AlsTrainer implements ModelTrainer {
  private readonly onProgress: (done: number, total: number) => void
  private place: TopicsPlace = {}
  private model: AlsModel | undefined
  private learner: SequentialLearner | undefined
  private newestEventMs = -1
  private readonly changed = new Set<string>()

  constructor(onProgress: (done: number, total: number) => void) {
    this.onProgress = onProgress
  }

  async train(request: TrainRequest): Promise<TrainedModelMetadata> {
    this.place = request.place
    const { table, leftOut, read } = await this.observed(request.ranges)
    const starting =
      request.startingRows === undefined ? undefined : await startingRows(request.startingRows)
    const startMs = performance.now()
    const { model, metrics } =
      request.als.trainer === 'bmf'
        ? await this.chained(table, request.als)
        : await this.alternated(table, request.als, starting)
    this.model = model
    this.learner = learnerOf(model, table, request.rule)
    const { dimension, biased, globalMean, range, users, items } = model
    return {
      users: users.length,
      items: items.length,
      dimension,
      biased,
      globalMean,
      minRating: range.min,
      maxRating: range.max,
      newestEventMs: this.newestEventMs,
      metrics: {
        ...dataMetrics(table, leftOut?.count),
        seconds: (performance.now() - startMs) / 1000,
        ...metrics,
      },
      leftOut,
      ranges: read,
    }
  }

  private async alternated(
    table: RatingsTable,
    options: RetrainAlsOptions,
    startingRows: StartingRows | undefined,
  ): Promise<TrainedFactors> {
    const total = 2 * (options.iterations ?? 15)
    let done = 0
    const model = await trainAls(table, {
      ...alsOptionsIn(options),
      ...(startingRows === undefined ? {} : { startingRows }),
      onProgress: () => this.onProgress(++done, total),
    })
    const { objective, trainRmse } = model.history.at(-1) ?? {}
    return { model, metrics: definedOf({ objective, trainRmse }) }
  }

  private async chained(table: RatingsTable, options: RetrainAlsOptions): Promise<TrainedFactors> {
    const total = options.sweeps ?? 30
    const { model, history } = await trainBmf(table, {
      ...bmfOptionsIn(options),
      onProgress: ({ sweep }) => this.onProgress(sweep, total),
    })
    const { noise, trainRmse } = history.at(-1) ?? {}
    return { model, metrics: definedOf({ noise, trainRmse }) }
  }

  private async observed(ranges: readonly DataRange[]): Promise<{
    readonly table: RatingsTable
    readonly leftOut: LeftOut | undefined
    readonly read: readonly DataRange[]
  }> {
    await using topics = await openTopics(this.place)
    const leftOut = new LeftOutRecords()
    // One partition at a time: their order of arrival varies, and the rows must be reproducible.
    const builder = new RatingsTableBuilder()
    const reading = new RangesReading(ranges)
    const ordered = [...ranges].sort((a, b) => a.partition - b.partition)
    for (const range of ordered) {
      const pieces = readObservations(topics, [range], leftOut.onBad)
      for await (const piece of pieces) {
        for (const observation of piece) {
          const { user, item, rating, timestamp } = observation
          builder.add(user, item, rating, timestamp)
          reading.addRating(observation)
          this.newestEventMs = newestOf(this.newestEventMs, timestamp)
        }
      }
    }
    return { table: builder.build(), leftOut: leftOut.found(), read: reading.ranges }
  }

  async replay(ranges: readonly DataRange[]): Promise<TrainerAnswer> {
    const learner = this.learner as SequentialLearner
    await using topics = await openTopics(this.place)
    const leftOut = new LeftOutRecords()
    const reading = new RangesReading(ranges)
    let observations = 0
    let refused = 0
    for await (const piece of readObservations(topics, ranges, leftOut.onBad)) {
      for (const rating of piece) {
        observations++
        reading.addRating(rating)
        this.newestEventMs = newestOf(this.newestEventMs, rating.timestamp)
        if (learner.learn(rating) === 'refused') refused++
        else this.changed.add(alsKey(rating.user, 'U')).add(alsKey(rating.item, 'I'))
      }
    }
    const rows = [...this.changed].map((key) => this.changedRow(key))
    this.changed.clear()
    const { newestEventMs } = this
    return {
      kind: 'replayed',
      observations,
      refused,
      leftOut: leftOut.found(),
      newestEventMs,
      rows,
      ranges: reading.ranges,
    }
  }

  private changedRow(key: string): ChangedRow {
    const { users, items } = this.learner as SequentialLearner
    const kind = kindOfKey(key)
    const id = idOfKey(key)
    const learned = (kind === 'U' ? users : items).get(id) as LearnedRow
    const trained = this.model?.rowOf(kind, id) !== undefined
    return { key, vector: learned.row, ratings: ratingsOf(learned, trained) }
  }

  async write(file: string): Promise<TrainerAnswer> {
    const model = this.model as AlsModel
    const { users, items } = this.learner as SequentialLearner
    const learned = {
      U: [...users].filter(([id]) => model.rowOf('U', id) === undefined),
      I: [...items].filter(([id]) => model.rowOf('I', id) === undefined),
    }
    const counts = {
      users: model.users.length + learned.U.length,
      items: model.items.length + learned.I.length,
    }
    const header = { dimension: model.dimension, rows: counts.users + counts.items }
    await writeModelFile(file, header, rowsOf(model, { users, items }, learned))
    this.changed.clear()
    return { kind: 'written', ...counts }
  }
}

/** A trained model, with the metrics of its trainer. */
interface TrainedFactors {
  readonly model: AlsModel
  readonly metrics: Readonly<Record<string, number>>
}

function definedOf(metrics: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(metrics).filter((entry): entry is [string, number] => entry[1] !== undefined),
  )
}

function learnerOf(
  model: AlsModel,
  table: RatingsTable,
  options: OnlineRuleOptions,
): SequentialLearner {
  const { dimension, biased, globalMean } = model
  const rule = withGlobalMean(options, globalMean)
  const made = onlineRule({ dimension, biased }, rule, () => momentsOf(model))
  return new SequentialLearner(learnableModel(model, table), made)
}

function* rowsOf(
  model: AlsModel,
  rows: Pick<SequentialLearner, 'users' | 'items'>,
  learned: Readonly<Record<'U' | 'I', readonly [string, LearnedRow][]>>,
): Generator<ChangedRow> {
  for (const kind of ['U', 'I'] as const) {
    const ids = kind === 'U' ? model.users : model.items
    const replayed = kind === 'U' ? rows.users : rows.items
    for (const [index, id] of ids.entries()) {
      const key = alsKey(id, kind)
      const row = replayed.get(id)
      if (row !== undefined) yield { key, vector: row.row, ratings: ratingsOf(row, true) }
      else yield { key, vector: model.row(kind, index), ratings: model.ratingsOf(kind, index) }
    }
    for (const [id, row] of learned[kind]) {
      yield { key: alsKey(id, kind), vector: row.row, ratings: ratingsOf(row, false) }
    }
  }
}

/** Ratings of the training and those learned since; writing a trained row counts as one update. */
function ratingsOf({ evidence, updates }: LearnedRow, trained: boolean): number {
  return evidence + updates - (trained ? 1 : 0)
}

async function startingRows(file: string): Promise<StartingRows> {
  const rows = new Map<string, Float32Array>()
  for await (const { key, vector } of (await openModelFile(file)).rows()) rows.set(key, vector)
  return (kind, id) => rows.get(alsKey(id, kind))
}
