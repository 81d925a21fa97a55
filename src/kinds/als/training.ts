import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { ratingNoise } from '../../models/als/online/prior.ts'
import { onlineRule, withVersionFacts } from '../../models/als/online/rules.ts'
import { alsKey } from '../../models/als/row-key.ts'
import { openModelFile } from '../../models/publish/file-io.ts'
import { resolvedHalfLife } from '../../training/als/choose-half-life.ts'
import { momentsOf } from '../../training/als/learnable-model.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import type { StartingRows } from '../../training/als/solver/options.ts'
import { trainAls } from '../../training/als/train.ts'
import type { BmfOptions } from '../../training/bmf/options.ts'
import type { RowVariances } from '../../training/bmf/score-variances.ts'
import { trainBmf } from '../../training/bmf/train.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import type { TrainedFactors } from '../factors/trainer.ts'
import type { OnTrained, TrainingData } from '../port/trainer.ts'
import { featuresAt } from './features-file.ts'
import { type AlsTraining, alsOptionsIn, bmfOptionsIn, type RetrainAlsOptions } from './options.ts'

/** Trains the rows of an ALS model, by alternating least squares or by a chain of Bayesian factorisation. */
export async function trainAlsFactors(
  table: RatingsTable,
  { als, rule, startingRows: file, place }: TrainingData & AlsTraining,
  onProgress: OnTrained,
): Promise<TrainedFactors> {
  const halfLifeMs = await resolvedHalfLife(table, als.halfLifeMs, {
    feedback: als.feedback,
    train: async (older, tried) => {
      const weighted = { ...als, halfLifeMs: tried }
      return (await trained(older, weighted, { file: undefined, place, onProgress: () => {} }))
        .model
    },
  })
  const { model, metrics, device, variances } = await trained(
    table,
    { ...als, halfLifeMs },
    { file, place, onProgress },
  )
  const { dimension, biased, globalMean, range } = model
  const noise = ratingNoise(metrics['trainRmse'], range)
  const options = withVersionFacts(rule, { globalMean, noise })
  return {
    model,
    metrics,
    device,
    variances,
    ...(als.halfLifeMs === 'auto' ? { chosenHalfLifeMs: halfLifeMs ?? 0 } : {}),
    rule: onlineRule({ dimension, biased }, options, () => momentsOf(model)),
  }
}

/** A trained model, with the metrics of its trainer. */
interface TrainedModel {
  readonly model: AlsModel
  readonly metrics: Readonly<Record<string, number>>
  /** The device in words. */
  readonly device: string
  readonly variances?: RowVariances | undefined
}

/** Options of a training of which the half-life is known. */
type WeighedOptions = Omit<RetrainAlsOptions, 'halfLifeMs'> & {
  readonly halfLifeMs: number | undefined
}

/** What a training gets besides: the file of the rows to start from. */
interface TrainingRun {
  readonly file: string | undefined
  /** The topics, of which one may have features. */
  readonly place: TopicsPlace
  readonly onProgress: OnTrained
}

async function trained(
  table: RatingsTable,
  options: WeighedOptions,
  run: TrainingRun,
): Promise<TrainedModel> {
  return options.trainer === 'bmf'
    ? await chained(table, options, run)
    : await alternated(table, options, run)
}

async function alternated(
  table: RatingsTable,
  { halfLifeMs, ...options }: WeighedOptions,
  { file, onProgress }: TrainingRun,
): Promise<TrainedModel> {
  const total = 2 * (options.iterations ?? 15)
  let done = 0
  let device = 'cpu'
  const model = await trainAls(table, {
    ...alsOptionsIn(options),
    ...(halfLifeMs === undefined ? {} : { halfLifeMs }),
    ...(file === undefined ? {} : { startingRows: await startingRows(file) }),
    onDevice: (name, reason) => {
      device = reason === undefined ? name : `${name} (${reason})`
    },
    onProgress: () => onProgress(++done, total),
  })
  const { objective, trainRmse } = model.history.at(-1) ?? {}
  return { model, device, metrics: definedOf({ objective, trainRmse }) }
}

async function chained(
  table: RatingsTable,
  { halfLifeMs, ...options }: WeighedOptions,
  { place, onProgress }: TrainingRun,
): Promise<TrainedModel> {
  const total = options.sweeps ?? 30
  let device = 'cpu'
  const features = await featuresIn(options, place)
  const { model, history, variances } = await trainBmf(table, {
    ...bmfOptionsIn(options),
    ...features,
    ...(halfLifeMs === undefined ? {} : { halfLifeMs }),
    onDevice: (name) => {
      device = name
    },
    onProgress: ({ sweep }) => onProgress(sweep, total),
  })
  const { noise, trainRmse } = history.at(-1) ?? {}
  return { model, device, variances, metrics: definedOf({ noise, trainRmse }) }
}

/** The features of the files and topics of a training. */
async function featuresIn(
  { userFeaturesFile: users, itemFeaturesFile: items }: RetrainAlsOptions,
  place: TopicsPlace,
): Promise<Pick<BmfOptions, 'userFeatures' | 'itemFeatures'>> {
  const topics = (): Promise<TopicStore> => openTopics(place)
  return {
    ...(users === undefined ? {} : { userFeatures: await featuresAt(users, topics) }),
    ...(items === undefined ? {} : { itemFeatures: await featuresAt(items, topics) }),
  }
}

function definedOf(metrics: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(metrics).filter((entry): entry is [string, number] => entry[1] !== undefined),
  )
}

async function startingRows(file: string): Promise<StartingRows> {
  const rows = new Map<string, Float32Array>()
  for await (const { key, vector } of (await openModelFile(file)).rows()) rows.set(key, vector)
  return (kind, id) => rows.get(alsKey(id, kind))
}
