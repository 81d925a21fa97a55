import { openTopics, type TopicsPlace } from '../connectors/topics/open-topics.ts'
import type { LearnedRow } from '../models/online-rule.ts'
import { type OnlineRuleOptions, onlineRule } from '../models/online-rules.ts'
import type { DataRange } from '../models/registry-version.ts'
import { SequentialLearner } from '../models/sequential-learner.ts'
import type { AlsModel } from '../training/als-model.ts'
import type { StartingRows } from '../training/als-start.ts'
import { learnableModel, momentsOf } from '../training/learnable-model.ts'
import { type RatingsTable, RatingsTableBuilder } from '../training/ratings-table.ts'
import { trainAls } from '../training/train-als.ts'
import { dataMetrics } from './data-metrics.ts'
import { openModelFile, writeModelFile } from './model-file-io.ts'
import type { ChangedRow, TrainedFacts, TrainerAnswer, TrainerRequest } from './retrain-messages.ts'
import { readObservations } from './retrain-observations.ts'

type TrainRequest = Extract<TrainerRequest, { kind: 'train' }>

/**
 * What a training process does: trains on a range of observations, then learns later ones online on the
 * new rows, until they are as fresh as the live version's.
 */
export class RetrainTrainer {
  private readonly onProgress: (done: number, total: number) => void
  private place: TopicsPlace = {}
  private model: AlsModel | undefined
  private learner: SequentialLearner | undefined
  private newestEventMs = -1
  private readonly changed = new Set<string>()

  constructor(onProgress: (done: number, total: number) => void) {
    this.onProgress = onProgress
  }

  /** Answers a request. Rejects with what went wrong. */
  async answer(request: TrainerRequest): Promise<TrainerAnswer> {
    switch (request.kind) {
      case 'train':
        return { kind: 'trained', facts: await this.train(request) }
      case 'replay':
        return await this.replay(request.ranges)
      case 'write':
        return await this.write(request.file)
    }
  }

  private async train(request: TrainRequest): Promise<TrainedFacts> {
    this.place = request.place
    const { table, unparsable } = await this.observed(request.ranges)
    const starting =
      request.startingRows === undefined ? undefined : await startingRows(request.startingRows)
    const startMs = performance.now()
    const total = 2 * (request.als.iterations ?? 15)
    let done = 0
    const model = await trainAls(table, {
      ...request.als,
      ...(starting === undefined ? {} : { startingRows: starting }),
      onProgress: () => this.onProgress(++done, total),
    })
    this.model = model
    this.learner = learnerOf(model, table, request.rule)
    const { dimension, biased, globalMean, range, users, items, history } = model
    const last = history.at(-1)
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
        ...dataMetrics(table, unparsable),
        seconds: (performance.now() - startMs) / 1000,
        ...(last === undefined ? {} : { objective: last.objective }),
        ...(last?.trainRmse === undefined ? {} : { trainRmse: last.trainRmse }),
      },
    }
  }

  private async observed(
    ranges: readonly DataRange[],
  ): Promise<{ readonly table: RatingsTable; readonly unparsable: number }> {
    await using topics = await openTopics(this.place)
    let unparsable = 0
    // One partition after the other: in which turn they come is chance, and rows must be reproducible.
    const builder = new RatingsTableBuilder()
    const ordered = [...ranges].sort((a, b) => a.partition - b.partition)
    for (const range of ordered) {
      const pieces = readObservations(topics, [range], () => unparsable++)
      for await (const piece of pieces) {
        for (const { user, item, rating, timestamp } of piece) {
          builder.add(user, item, rating, timestamp)
          if (timestamp > this.newestEventMs) this.newestEventMs = timestamp
        }
      }
    }
    return { table: builder.build(), unparsable }
  }

  private async replay(ranges: readonly DataRange[]): Promise<TrainerAnswer> {
    const learner = this.learner as SequentialLearner
    await using topics = await openTopics(this.place)
    let observations = 0
    for await (const piece of readObservations(topics, ranges)) {
      for (const rating of piece) {
        observations++
        if (rating.timestamp > this.newestEventMs) this.newestEventMs = rating.timestamp
        if (learner.learn(rating) === 'refused') continue
        this.changed.add(`${rating.user}-U`).add(`${rating.item}-I`)
      }
    }
    const rows = [...this.changed].map((key) => this.changedRow(key))
    this.changed.clear()
    return { kind: 'replayed', observations, newestEventMs: this.newestEventMs, rows }
  }

  private changedRow(key: string): ChangedRow {
    const { users, items } = this.learner as SequentialLearner
    const kind = key.endsWith('-U') ? 'U' : 'I'
    const id = key.slice(0, -2)
    const learned = (kind === 'U' ? users : items).get(id) as LearnedRow
    const trained = this.model?.rowOf(kind, id) !== undefined
    return { key, vector: learned.row, ratings: ratingsOf(learned, trained) }
  }

  private async write(file: string): Promise<TrainerAnswer> {
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

function learnerOf(
  model: AlsModel,
  table: RatingsTable,
  options: OnlineRuleOptions,
): SequentialLearner {
  const { dimension, biased, globalMean } = model
  const rule = options.rule === 'sgd' ? { ...options, globalMean } : options
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
      const key = `${id}-${kind}`
      const row = replayed.get(id)
      if (row !== undefined) yield { key, vector: row.row, ratings: ratingsOf(row, true) }
      else yield { key, vector: model.row(kind, index), ratings: model.ratingsOf(kind, index) }
    }
    for (const [id, row] of learned[kind]) {
      yield { key: `${id}-${kind}`, vector: row.row, ratings: ratingsOf(row, false) }
    }
  }
}

/** Ratings of training and those learned since; of a trained row, being written was an update. */
function ratingsOf({ evidence, updates }: LearnedRow, trained: boolean): number {
  return evidence + updates - (trained ? 1 : 0)
}

async function startingRows(file: string): Promise<StartingRows> {
  const rows = new Map<string, Float32Array>()
  for await (const { key, vector } of (await openModelFile(file)).rows()) rows.set(key, vector)
  return (kind, id) => rows.get(`${id}-${kind}`)
}
