import { WeirError } from '../../core/errors.ts'
import { MOST_FEATURES } from '../../core/feature.ts'
import { hashingOf } from '../../core/features/hashing.ts'
import type { LinearPrior } from '../../models/linear/prior.ts'
import { DEFAULT_RANGE } from '../../models/linear/weight-row.ts'
import { type ObservedExample, readExamples } from '../../models/observations/examples.ts'
import { historyExamples } from '../../models/observations/history.ts'
import { writeModelFile } from '../../models/publish/file-io.ts'
import { ageWeights } from '../../training/data/age-weights.ts'
import { type SparseTable, SparseTableBuilder } from '../../training/data/sparse-table.ts'
import { chooseLinearHalfLife } from '../../training/linear/choose-half-life.ts'
import type { LinearModel } from '../../training/linear/model.ts'
import { defaultTolerance } from '../../training/linear/options.ts'
import { linearPrior } from '../../training/linear/prior.ts'
import { trainLinear } from '../../training/linear/train.ts'
import { type ReadTraining, readTraining } from '../port/read-training.ts'
import type {
  ModelTrainer,
  OnTrained,
  TrainedModelMetadata,
  TrainingData,
  WrittenRows,
} from '../port/trainer.ts'
import { exampleMetrics } from './example-metrics.ts'
import type { LinearTraining } from './options.ts'
import { publishableWeights, weightBlockRows } from './publish.ts'

type TrainRequest = TrainingData & LinearTraining

/** Digits of the duality gap, in the progress of a training: a gap of 1e-3 is 300 of 300. */
const PROGRESS_OF_DIGIT = 100

/**
 * Trains a linear model on ranges of labelled examples. The optimum does not depend on where training
 * starts, so it needs no warm start. Later examples are learned by the job that serves the model: it
 * resumes after the ranges when the version goes live.
 */
export class LinearTrainer implements ModelTrainer<LinearTraining> {
  private readonly onProgress: OnTrained
  private model: LinearModel | undefined
  private prior: LinearPrior | undefined
  private range = DEFAULT_RANGE

  constructor(onProgress: OnTrained) {
    this.onProgress = onProgress
  }

  /** Throws the errors of `trainLinear`. */
  async train(request: TrainRequest): Promise<TrainedModelMetadata> {
    const {
      range = DEFAULT_RANGE,
      maxFeatures: _,
      hashBits: __,
      crosses: ___,
      halfLifeMs: givenHalfLife,
      ...given
    } = request.linear
    const { tolerance = defaultTolerance(), ...options } = given
    const { table, times, leftOut, unparsable, newestEventMs, read, files } =
      await observed(request)
    const startMs = performance.now()
    const total = Math.ceil(-Math.log10(tolerance) * PROGRESS_OF_DIGIT)
    const allTimes = Float64Array.from(times)
    const halfLifeMs =
      givenHalfLife === 'auto'
        ? await chooseLinearHalfLife(table, {
            times: allTimes,
            train: (rows, weights) => trainLinear(table, { ...options, tolerance, rows, weights }),
          })
        : givenHalfLife
    const weights = halfLifeMs === undefined ? undefined : ageWeights(allTimes, halfLifeMs)
    const model = await trainLinear(table, {
      ...options,
      weights,
      tolerance,
      onProgress: ({ relativeGap }) => {
        const done = Math.round(-Math.log10(relativeGap) * PROGRESS_OF_DIGIT)
        this.onProgress(Math.min(total, Math.max(0, done)), total)
      },
    })
    this.model = model
    this.prior = linearPrior(table, model)
    this.range = range
    const { positive, negative } = model.labels
    return {
      users: 0,
      items: Math.ceil(table.features / range) + 1,
      dimension: range,
      biased: model.intercept !== 0,
      globalMean: 0,
      newestEventMs,
      found: {
        ...{ features: table.features, positiveLabel: positive, negativeLabel: negative },
        ...(givenHalfLife === 'auto' ? { chosenHalfLifeMs: halfLifeMs ?? 0 } : {}),
      },
      metrics: {
        ...exampleMetrics(table, model, { tolerance, unparsable }),
        seconds: (performance.now() - startMs) / 1000,
      },
      leftOut,
      ranges: read,
      files,
    }
  }

  replay(): Promise<never> {
    return Promise.reject(
      new WeirError('UNSUPPORTED', 'examples after the ranges are learned by the serving job'),
    )
  }

  async write(file: string): Promise<WrittenRows> {
    const { weights, intercept } = this.model as LinearModel
    const model = publishableWeights(weights, intercept, this.prior)
    const items = Math.ceil(model.features / this.range) + 1
    const rows = weightBlockRows(model, this.range)
    await writeModelFile(file, { dimension: this.range, rows: items }, keyed(rows))
    return { users: 0, items }
  }
}

function* keyed(rows: ReturnType<typeof weightBlockRows>) {
  for (const { id, kind, ...row } of rows) yield { key: `${id}-${kind}`, ...row }
}

/** The examples that a training reads. */
async function observed(
  request: TrainRequest,
): Promise<ReadTraining & { readonly table: SparseTable; readonly times: readonly number[] }> {
  const builder = new SparseTableBuilder()
  const times: number[] = []
  const hashing = hashingOf({ ...request.linear })
  const found = await readTraining<ObservedExample>(request, {
    read: (topics, ranges, onBad) => readExamples(topics, ranges, onBad, hashing),
    readHistory: (history, onRead) => historyExamples(history, onRead, hashing),
    note: (reading, example) => reading.addExample(example),
    take(example, onBad) {
      const problem = problemOf(example, request)
      if (problem !== undefined) {
        onBad(example.partition, example.offset, problem)
        return undefined
      }
      const { label, importance, ids, values, timestamp } = example
      builder.add(label, ids, values, ids.length, importance)
      times.push(timestamp)
      return timestamp
    },
  })
  return { ...found, table: builder.build(), times }
}

/** Why an example is left out of a training, as the job that learns refuses it; undefined for one that is learned. */
function problemOf(
  { label, ids }: ObservedExample,
  { labels, linear }: LinearTraining,
): string | undefined {
  if (labels !== undefined && label !== labels.positive && label !== labels.negative) {
    return `its label ${label} is neither ${labels.positive} nor ${labels.negative}`
  }
  const { maxFeatures = MOST_FEATURES } = linear
  const last = ids.at(-1) ?? 0
  if (last < maxFeatures) return undefined
  return `its feature ${last} is not below the limit of ${maxFeatures} features (--max-features)`
}
