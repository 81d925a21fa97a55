import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { LearnedRow, OnlineRule } from '../../models/als/online/rule.ts'
import { SequentialLearner } from '../../models/als/online/sequential-learner.ts'
import { alsKey, idOfKey, kindOfKey } from '../../models/als/row-key.ts'
import { historyRatings } from '../../models/observations/history.ts'
import { LeftOutRecords } from '../../models/observations/left-out.ts'
import { RangesReading } from '../../models/observations/ranges-reading.ts'
import { type Observation, readObservations } from '../../models/observations/topic-ranges.ts'
import { writeModelFile } from '../../models/publish/file-io.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import { newestOf } from '../../models/registry/ranges/trained-on.ts'
import { learnableModel } from '../../training/als/learnable-model.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import type { RowVariances } from '../../training/bmf/score-variances.ts'
import {
  pairsRepeatedFrom,
  type RatingsTable,
  RatingsTableBuilder,
  summedByPair,
} from '../../training/data/ratings-table.ts'
import { type ReadTraining, readTraining } from '../port/read-training.ts'
import type {
  ChangedRow,
  ModelTrainer,
  OnTrained,
  ReplayedObservations,
  TrainedModelMetadata,
  TrainingData,
  WrittenRows,
} from '../port/trainer.ts'
import { dataMetrics } from './data-metrics.ts'

/** A model that was trained. */
export interface TrainedFactors {
  readonly model: AlsModel
  /** Metrics of the training, such as its objective. */
  readonly metrics: Readonly<Record<string, number>>
  /** Variances of its ratings, where they were measured. */
  readonly variances?: RowVariances | undefined
  /** The device that it was trained on, in words. @default the CPU, as there is no other */
  readonly device?: string
  /** The half-life that was chosen, ms; 0 for none, undefined where it was not to be chosen. */
  readonly chosenHalfLifeMs?: number | undefined
  /** The rule by which it learns later ratings. */
  readonly rule: OnlineRule
}

/** How a kind trains factor rows. `T`: what it gets. */
export type TrainFactors<T> = (
  table: RatingsTable,
  training: TrainingData & T,
  onProgress: OnTrained,
) => Promise<TrainedFactors>

/**
 * Trains a model of factor rows on ranges of ratings, then learns later ratings online on the new rows, until they
 * are as fresh as those of the live version.
 */
export class FactorsTrainer<T> implements ModelTrainer<T> {
  private readonly trainFactors: TrainFactors<T>
  private readonly onProgress: OnTrained
  private place: TopicsPlace = {}
  private model: AlsModel | undefined
  private variances: RowVariances | undefined
  private learner: SequentialLearner | undefined
  private newestEventMs = -1
  private readonly changed = new Set<string>()

  constructor(trainFactors: TrainFactors<T>, onProgress: OnTrained) {
    this.trainFactors = trainFactors
    this.onProgress = onProgress
  }

  async train(training: TrainingData & T): Promise<TrainedModelMetadata> {
    this.place = training.place
    const { table, leftOut, unparsable, newestEventMs, read, files, repeated } =
      await ratingsOf(training)
    this.newestEventMs = newestEventMs
    const startMs = performance.now()
    const { model, metrics, rule, device, chosenHalfLifeMs, variances } = await this.trainFactors(
      table,
      training,
      this.onProgress,
    )
    this.model = model
    this.variances = variances
    this.learner = new SequentialLearner(learnableModel(model, table), rule)
    const { dimension, biased, globalMean, range, users, items } = model
    return {
      users: users.length,
      items: items.length,
      dimension,
      biased,
      globalMean,
      minRating: range.min,
      maxRating: range.max,
      newestEventMs,
      metrics: {
        ...dataMetrics(table, unparsable),
        seconds: (performance.now() - startMs) / 1000,
        ...metrics,
      },
      leftOut,
      ranges: read,
      files,
      repeated,
      ...(device === undefined ? {} : { device }),
      ...(variances === undefined ? {} : { coldVariances: variances.cold }),
      ...(chosenHalfLifeMs === undefined ? {} : { found: { chosenHalfLifeMs } }),
    }
  }

  async replay(ranges: readonly DataRange[]): Promise<ReplayedObservations> {
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
    const left = leftOut.found()
    return { observations, refused, leftOut: left, newestEventMs, rows, ranges: reading.ranges }
  }

  private changedRow(key: string): ChangedRow {
    const { users, items } = this.learner as SequentialLearner
    const kind = kindOfKey(key)
    const id = idOfKey(key)
    const learned = (kind === 'U' ? users : items).get(id) as LearnedRow
    const trained = this.model?.rowOf(kind, id) !== undefined
    const memory = this.variances?.rowOf(kind, id)
    return { key, vector: learned.row, ratings: countOf(learned, trained), memory }
  }

  async write(file: string): Promise<WrittenRows> {
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
    await writeModelFile(
      file,
      header,
      rowsOf({ model, variances: this.variances }, { users, items }, learned),
    )
    this.changed.clear()
    return counts
  }
}

/** The ratings that a training reads. */
async function ratingsOf(
  training: TrainingData,
): Promise<ReadTraining & { readonly table: RatingsTable; readonly repeated: number }> {
  const builder = new RatingsTableBuilder()
  let ofTopic = 0
  const found = await readTraining<Observation>(training, {
    read: readObservations,
    readHistory: historyRatings,
    note(reading, observation) {
      ofTopic++
      reading.addRating(observation)
    },
    take({ user, item, rating, timestamp }) {
      builder.add(user, item, rating, timestamp)
      return timestamp
    },
  })
  const table = builder.build()
  const repeated = found.files.length === 0 ? 0 : pairsRepeatedFrom(table, table.size - ofTopic)
  // Events count together, those of the topic too.
  const hasEvents = training.history?.reading?.events !== undefined
  return { ...found, table: hasEvents ? summedByPair(table) : table, repeated }
}

function* rowsOf(
  { model, variances }: Pick<TrainedFactors, 'model' | 'variances'>,
  rows: Pick<SequentialLearner, 'users' | 'items'>,
  learned: Readonly<Record<'U' | 'I', readonly [string, LearnedRow][]>>,
): Generator<ChangedRow> {
  for (const kind of ['U', 'I'] as const) {
    const ids = kind === 'U' ? model.users : model.items
    const replayed = kind === 'U' ? rows.users : rows.items
    for (const [index, id] of ids.entries()) {
      const key = alsKey(id, kind)
      const row = replayed.get(id)
      const memory = variances?.row(kind, index)
      if (row !== undefined) yield { key, vector: row.row, ratings: countOf(row, true), memory }
      else {
        const ratings = model.ratingsOf(kind, index)
        yield { key, vector: model.row(kind, index), ratings, memory }
      }
    }
    for (const [id, row] of learned[kind]) {
      yield { key: alsKey(id, kind), vector: row.row, ratings: countOf(row, false) }
    }
  }
}

/** Ratings of the training and those learned since; writing a trained row counts as one update. */
function countOf({ evidence, updates }: LearnedRow, trained: boolean): number {
  return evidence + updates - (trained ? 1 : 0)
}
