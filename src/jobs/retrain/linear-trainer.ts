import { openTopics } from '../../connectors/topics/open.ts'
import { WeirError } from '../../core/errors.ts'
import { MOST_FEATURES } from '../../core/feature.ts'
import type { LinearPrior } from '../../models/linear/prior.ts'
import { DEFAULT_RANGE } from '../../models/linear/weight-row.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import { newestOf } from '../../models/registry/ranges/trained-on.ts'
import { type SparseTable, SparseTableBuilder } from '../../training/data/sparse-table.ts'
import type { LinearModel } from '../../training/linear/model.ts'
import { defaultTolerance } from '../../training/linear/options.ts'
import { linearPrior } from '../../training/linear/prior.ts'
import { trainLinear } from '../../training/linear/train.ts'
import { readExamples } from '../observations/examples.ts'
import { type LeftOut, LeftOutRecords } from '../observations/left-out.ts'
import { RangesReading } from '../observations/ranges-reading.ts'
import { writeModelFile } from '../publish/file-io.ts'
import { publishableWeights, weightBlockRows } from '../publish/linear.ts'
import { exampleMetrics } from '../registry/data-metrics.ts'
import type { TrainedModelMetadata, TrainerAnswer, TrainerRequest } from './messages.ts'
import type { ModelTrainer } from './model-trainer.ts'

type TrainRequest = Extract<TrainerRequest, { kind: 'train'; linear: unknown }>

/** Digits of the duality gap, in the progress of a training: a gap of 1e-3 is 300 of 300. */
const PROGRESS_OF_DIGIT = 100

/**
 * Trains a linear model on ranges of labelled examples. The optimum does not depend on where training
 * starts, so it needs no warm start. Later examples are learned by the job that serves the model: it
 * resumes after the ranges when the version goes live.
 */
export class LinearTrainer implements ModelTrainer {
  private readonly onProgress: (done: number, total: number) => void
  private model: LinearModel | undefined
  private prior: LinearPrior | undefined
  private range = DEFAULT_RANGE

  constructor(onProgress: (done: number, total: number) => void) {
    this.onProgress = onProgress
  }

  /** Throws the errors of `trainLinear`. */
  async train(request: TrainRequest): Promise<TrainedModelMetadata> {
    const { range = DEFAULT_RANGE, maxFeatures: _, ...given } = request.linear
    const { tolerance = defaultTolerance(), ...options } = given
    const { table, leftOut, newestEventMs, read } = await observed(request)
    const startMs = performance.now()
    const total = Math.ceil(-Math.log10(tolerance) * PROGRESS_OF_DIGIT)
    const model = await trainLinear(table, {
      ...options,
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
      found: { features: table.features, positiveLabel: positive, negativeLabel: negative },
      metrics: {
        ...exampleMetrics(table, model, { tolerance, unparsable: leftOut?.count ?? 0 }),
        seconds: (performance.now() - startMs) / 1000,
      },
      leftOut,
      ranges: read,
    }
  }

  replay(): Promise<TrainerAnswer> {
    return Promise.reject(
      new WeirError('UNSUPPORTED', 'examples after the ranges are learned by the serving job'),
    )
  }

  async write(file: string): Promise<TrainerAnswer> {
    const { weights, intercept } = this.model as LinearModel
    const model = publishableWeights(weights, intercept, this.prior)
    const items = Math.ceil(model.features / this.range) + 1
    const rows = weightBlockRows(model, this.range)
    await writeModelFile(file, { dimension: this.range, rows: items }, keyed(rows))
    return { kind: 'written', users: 0, items }
  }
}

function* keyed(rows: ReturnType<typeof weightBlockRows>) {
  for (const { id, kind, ...row } of rows) yield { key: `${id}-${kind}`, ...row }
}

/** The examples of the ranges. One partition at a time, so that the order and the weights are reproducible. */
async function observed({ place, ranges, labels, linear }: TrainRequest): Promise<{
  readonly table: SparseTable
  readonly leftOut: LeftOut | undefined
  readonly newestEventMs: number
  readonly read: readonly DataRange[]
}> {
  await using topics = await openTopics(place)
  const { maxFeatures = MOST_FEATURES } = linear
  const builder = new SparseTableBuilder()
  const leftOut = new LeftOutRecords()
  const reading = new RangesReading(ranges)
  let newestEventMs = -1
  for (const range of [...ranges].sort((a, b) => a.partition - b.partition)) {
    for await (const piece of readExamples(topics, [range], leftOut.onBad)) {
      for (const example of piece) {
        const { label, ids, values, timestamp, partition, offset } = example
        reading.addExample(example)
        if (labels !== undefined && label !== labels.positive && label !== labels.negative) {
          const { positive, negative } = labels
          leftOut.onBad(
            partition,
            offset,
            `its label ${label} is neither ${positive} nor ${negative}`,
          )
          continue
        }
        const last = ids.at(-1) ?? 0
        if (last >= maxFeatures) {
          leftOut.onBad(
            partition,
            offset,
            `its feature ${last} is not below the limit of ${maxFeatures} features (--max-features)`,
          )
          continue
        }
        builder.add(label, ids, values)
        newestEventMs = newestOf(newestEventMs, timestamp)
      }
    }
  }
  return {
    table: builder.build(),
    leftOut: leftOut.found(),
    newestEventMs,
    read: reading.ranges,
  }
}
