import { writeFile } from 'node:fs/promises'
import { systemClock } from '../core/clock.ts'
import { dataMetrics } from '../jobs/data-metrics.ts'
import { publishAls } from '../jobs/publish-als.ts'
import { alsLearningCurve } from '../training/als-learning-curve.ts'
import type { AlsModel } from '../training/als-model.ts'
import type { AlsDeviceName, AlsProgress } from '../training/als-options.ts'
import { crossValidateAls } from '../training/cross-validate-als.ts'
import { evaluateAls } from '../training/evaluate-als.ts'
import { evaluateRanking } from '../training/evaluate-ranking.ts'
import type { RankingSummary } from '../training/ranking-metrics.ts'
import type { RatingsTable } from '../training/ratings-table.ts'
import {
  ALS_OPTIONS,
  ALS_TRAINING_OPTIONS,
  alsOptionsOf,
  trainWithProgress,
  validationSplit,
} from './als-training-flags.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka-flags.ts'
import { refuseOtherDimension } from './model-topic-dimension.ts'
import { ratingsOfFile } from './ratings-file.ts'
import { writeTextRows } from './text-rows-file.ts'

/** `weir train als`: factors a ratings file and publishes the rows as a version. */
export const trainAlsCommand: Command = {
  name: 'train als',
  summary: 'Train an ALS model on a ratings file and publish it as a version',
  usage: '--ratings FILE',
  options: {
    ratings: {
      type: 'string',
      value: 'FILE',
      help: 'u.data, ratings.dat or ratings.csv; a path or an hdfs:// URL',
    },
    test: { type: 'string', value: 'FILE', help: 'Held-out ratings to report the error on' },
    topic: { type: 'string', value: 'NAME', default: 'als-model', help: 'Model topic' },
    version: { type: 'string', value: 'N', default: '1', help: 'Number of the version' },
    'text-rows': {
      type: 'string',
      value: 'FILE',
      help: 'Also write the rows as text, "<id>,U|I,f1;f2;...", here or to an hdfs:// URL',
    },
    folds: { type: 'string', value: 'N', help: 'Also cross-validate in N folds' },
    curve: { type: 'string', value: 'FILE', help: 'Write the learning curve (SVG)' },
    'no-publish': { type: 'boolean', help: 'Only train' },
    ...ALS_OPTIONS,
    ...ALS_TRAINING_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `Example:
  weir train als --ratings u1.base --test u1.test --factors 50 --iterations 10`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    await using topics = await topicsOf(flags)
    const publish = !flags.boolean('no-publish')
    const options = alsOptionsOf(flags)
    const table = await ratingsOfFile(flags.string('ratings'))
    if (publish) await refuseOtherDimension(topics, flags.string('topic'), options)
    const { train, ...kept } = validationSplit(table, flags)
    let device: AlsDeviceName = 'cpu'
    const onDevice = (name: AlsDeviceName): void => {
      device = name
    }
    const model = await trainWithProgress(train, { ...options, ...kept, onDevice }, io)
    const result: Record<string, unknown> = {
      users: model.users.length,
      items: model.items.length,
      ratings: train.size,
      dimension: model.dimension,
      ...errorsOf(model.history),
      seconds: model.history.at(-1)?.seconds,
      ...(options.device === 'cpu' ? {} : { device }),
      ...(await testErrors(flags, model, train)),
    }
    const folds = flags.optionalInteger('folds', 2)
    if (folds !== undefined) {
      if (options.feedback === 'implicit') throw new UsageError('--folds needs explicit ratings')
      // The folds stay on the device that was found to be the faster.
      const chosen = { ...options, device: device === 'cpu' ? device : 'gpu' } as const
      const validation = await crossValidateAls(table, folds, chosen)
      result['crossValidatedRmse'] = validation.rmse
      result['foldRmse'] = validation.folds.map(({ rmse }) => rmse)
    }
    const curve = flags.optional('curve')
    if (curve !== undefined) await writeFile(curve, alsLearningCurve(model.history))
    const text = flags.optional('text-rows')
    if (text !== undefined) await writeTextRows(text, model)
    if (publish) {
      const version = flags.integer('version', 1)
      const topic = flags.string('topic')
      const metrics = dataMetrics(train)
      await publishAls(model, { log: topics, topic, version, clock: systemClock, metrics })
      result['topic'] = flags.string('topic')
      result['version'] = version
    }
    io.out(flags.boolean('json') ? JSON.stringify(result) : sentence(result))
    return 0
  },
}

/** Errors at the end of training; of validation, the best, which is that of the rows kept. */
function errorsOf(history: readonly AlsProgress[]): Record<string, number> {
  const end = history.at(-1)
  const rmse = history.flatMap(({ validationRmse }) => validationRmse ?? [])
  const ndcg = history.flatMap(({ validationNdcg }) => validationNdcg ?? [])
  return {
    ...(end === undefined ? {} : { objective: end.objective }),
    ...(end?.trainRmse === undefined ? {} : { trainRmse: end.trainRmse }),
    ...(rmse.length === 0 ? {} : { validationRmse: Math.min(...rmse) }),
    ...(ndcg.length === 0 ? {} : { validationNdcg: Math.max(...ndcg) }),
  }
}

/** Errors on the file of `--test`: of ratings, or with implicit feedback of rankings. */
async function testErrors(
  flags: Flags,
  model: AlsModel,
  train: RatingsTable,
): Promise<Record<string, unknown>> {
  const test = flags.optional('test')
  if (test === undefined) return {}
  const table = await ratingsOfFile(test)
  if (flags.boolean('implicit')) return { ranking: evaluateRanking(model, train, table) }
  const { rmse, coverage } = evaluateAls(model, table)
  return { rmse, coverage }
}

/** Said only where the device was not plainly the CPU. */
function deviceText(device: unknown): string {
  if (device === undefined) return ''
  return device === 'cpu' ? ' on the CPU' : ` on the GPU (${device})`
}

function sentence(result: Record<string, unknown>): string {
  const parts = [
    `${result['users']} users x ${result['items']} items, ${result['ratings']} ratings in ${Number(result['seconds']).toFixed(2)} s${deviceText(result['device'])}`,
  ]
  const errors = [
    ['validationRmse', 'validation RMSE'],
    ['validationNdcg', 'validation NDCG@10'],
    ['rmse', 'test RMSE'],
    ['crossValidatedRmse', 'cross-validated RMSE'],
  ] as const
  for (const [name, label] of errors) {
    if (result[name] !== undefined) parts.push(`${label} ${Number(result[name]).toFixed(4)}`)
  }
  const ranking = result['ranking'] as RankingSummary | undefined
  if (ranking !== undefined) {
    const { k, ndcg, precision, recall } = ranking
    parts.push(
      `test NDCG@${k} ${ndcg.mean.toFixed(4)}, precision ${precision.mean.toFixed(4)}, recall ${recall.mean.toFixed(4)}`,
    )
  }
  const place =
    result['topic'] === undefined
      ? ''
      : `; published as version ${result['version']} to topic ${result['topic']}`
  return parts.join(', ') + place
}
