import { writeFile } from 'node:fs/promises'
import { crossValidateAls } from '../../training/als/cross-validate.ts'
import { evaluateRanking } from '../../training/als/evaluate-ranking.ts'
import { alsLearningCurve } from '../../training/als/learning-curve.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import {
  type AlsDeviceName,
  type AlsOptions,
  type AlsProgress,
  alsHyperparameters,
  alsSettings,
} from '../../training/als/solver/options.ts'
import type { RatingsSource } from '../../training/als/solver/sides.ts'
import { trainAls } from '../../training/als/train.ts'
import { type Command, type CommandIo, Flags } from '../command/command.ts'
import { outputFileOf, outputPlaceOf } from '../files/output-file.ts'
import { writeTextRows } from '../files/text-rows-file.ts'
import { output } from '../flag-kinds/places.ts'
import {
  ALS_OPTIONS,
  ALS_TRAINING_OPTIONS,
  alsOptionsOf,
  trainWithProgress,
  validationSplit,
} from '../flags/als-training.ts'
import { topicsOf } from '../flags/kafka.ts'
import { isOnSpark } from '../spark/options.ts'
import { SPARK_ALS_OPTIONS, trainAlsOnSpark } from '../spark/train-als.ts'
import { DatasetFacts } from '../training/dataset-facts.ts'
import {
  FACTORS_OPTIONS,
  FACTORS_PLACE_OPTIONS,
  foldResult,
  heldOutRatings,
  publishTrained,
  testResult,
  trainedText,
  trainingInput,
} from '../training/factors.ts'
import { halfLifeOf, trainedHalfLife, withHalfLife } from '../training/half-life.ts'
import { MEMORY_OPTION, trainingRatings } from '../training/ratings-input.ts'
import { strongFolds } from '../training/strong-folds.ts'

/** `weir train als`: trains an ALS model on a ratings file and publishes it. */
export const trainAlsCommand: Command = {
  name: 'train als',
  summary: 'Train an ALS model on a ratings file and publish it as a version',
  options: {
    ...FACTORS_OPTIONS,
    curve: { type: 'string', value: output(), help: 'Write the learning curve as SVG' },
    ...ALS_OPTIONS,
    ...ALS_TRAINING_OPTIONS,
    ...MEMORY_OPTION,
    ...SPARK_ALS_OPTIONS,
    ...FACTORS_PLACE_OPTIONS,
  },
  details: `Example:
  weir train als --ratings u1.base --test u1.test --factors 50 --iterations 10
  weir train als --ratings hdfs://namenode:9870/ratings --no-biases --engine spark --master yarn --spark-folder hdfs://namenode:9870/tmp/weir`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    if (isOnSpark(flags)) return await trainAlsOnSpark(flags, io)
    await using topics = await topicsOf(flags)
    const given = alsOptionsOf(flags)
    const outputs = outputsOf(flags)
    const facts = new DatasetFacts()
    await facts.readTopic(flags, topics, { kind: 'ratings' })
    const { table, target } = await trainingInput(flags, topics, {
      ...given,
      read: () => trainingRatings(flags, io, facts),
    })
    using _files = 'sides' in table ? table : undefined
    const { train, ...validation } =
      'sides' in table ? { train: table } : validationSplit(table, flags)
    // What cannot be trained with a half-life ends the command before one is chosen.
    if (halfLifeOf(flags).halfLifeMs !== undefined) alsSettings({ ...given, halfLifeMs: 1 })
    const half = await trainedHalfLife(flags, train, {
      io,
      feedback: given.feedback,
      train: (older, halfLifeMs) => trainAls(older, withHalfLife(given, halfLifeMs)),
    })
    const options = withHalfLife(given, half.halfLifeMs)
    let device: AlsDeviceName = 'cpu'
    const onDevice = (name: AlsDeviceName): void => {
      device = name
    }
    const model = await trainWithProgress(train, { ...options, ...validation, onDevice }, io)
    // With --device auto the folds use the device that the trial chose.
    const chosen = { ...options, device: device === 'cpu' ? device : 'gpu' } as const
    await writeFiles(outputs, model)
    const result: Record<string, unknown> = {
      ...summaryOf(model, train),
      ...half.result,
      ...(options.device === 'cpu' ? {} : { device }),
      ...(await testErrors({ flags, io }, model, train)),
      ...(await foldErrors(flags, table, chosen)),
      ...(await publishTrained(
        {
          model,
          train,
          hyperparameters: { ...alsHyperparameters(options), ...half.hyperparameters },
          trainedOn: facts.trainedOn(flags.string('ratings'), io),
        },
        target,
        io,
      )),
    }
    io.out(await trainedText(flags, result))
    return 0
  },
}

function summaryOf(model: AlsModel, train: RatingsSource): Record<string, unknown> {
  return {
    users: model.users.length,
    items: model.items.length,
    ratings: train.size,
    dimension: model.dimension,
    ...errorsOf(model.history),
    seconds: model.history.at(-1)?.seconds,
  }
}

/** Values of the flags that name files to write or work to do after training; checked before it. */
interface TrainingOutputs {
  readonly curve: string | undefined
  readonly textRows: string | undefined
}

/** Throws UsageError if a file cannot be written. */
function outputsOf(flags: Flags): TrainingOutputs {
  return { curve: outputFileOf(flags, 'curve'), textRows: outputPlaceOf(flags, 'text-rows') }
}

/** Errors of `--folds`. */
async function foldErrors(
  flags: Flags,
  table: RatingsSource,
  options: AlsOptions,
): Promise<Record<string, unknown>> {
  const count = flags.optionalNumber('folds')
  if (count === undefined || 'sides' in table) return {}
  if (options.feedback === 'implicit') return { strong: await strongFolds(table, count, options) }
  return foldResult(await crossValidateAls(table, count, options))
}

/** Writes the files of `--curve` and `--text-rows`. */
async function writeFiles({ curve, textRows }: TrainingOutputs, model: AlsModel): Promise<void> {
  if (curve !== undefined) await writeFile(curve, alsLearningCurve(model.history))
  if (textRows !== undefined) await writeTextRows(textRows, model)
}

/** Errors at the end of training; for validation the best one, because its rows are kept. */
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

/** Errors on the file of `--test`: of ratings, or of rankings with implicit feedback. */
async function testErrors(
  { flags, io }: { readonly flags: Flags; readonly io: CommandIo },
  model: AlsModel,
  train: RatingsSource,
): Promise<Record<string, unknown>> {
  const test = flags.optional('test')
  const isRanking = flags.boolean('implicit') && !('sides' in train)
  if (test === undefined || !isRanking) return await testResult(flags, { model, train }, io)
  const { held, ...shared } = await heldOutRatings(test, train, { flags, io })
  return { ranking: evaluateRanking(model, train, held), ...shared }
}
