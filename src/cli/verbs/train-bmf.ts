import { writeFile } from 'node:fs/promises'
import { crossValidate } from '../../training/als/cross-validate.ts'
import type { AlsDeviceName } from '../../training/als/solver/options.ts'
import {
  chooseWhoRated,
  chosenWhoRatedText,
  type WhoRatedChoice,
} from '../../training/bmf/choose-who-rated.ts'
import { withFeatureIds } from '../../training/bmf/features/feature-block.ts'
import { bmfLearningCurve } from '../../training/bmf/learning-curve.ts'
import { type BmfOptions, bmfSettings } from '../../training/bmf/options.ts'
import { type BmfResult, trainBmf } from '../../training/bmf/train.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import { type Command, type CommandIo, Flags, UsageError } from '../command/command.ts'
import { outputFileOf, outputPlaceOf } from '../files/output-file.ts'
import { writeTextRows } from '../files/text-rows-file.ts'
import { share } from '../flag-kinds/numbers.ts'
import { output } from '../flag-kinds/places.ts'
import { orWord } from '../flag-kinds/words.ts'
import { validationSplit } from '../flags/als-training.ts'
import { topicsOf } from '../flags/kafka.ts'
import { BMF_OPTIONS, bmfOptionsOf, trainBmfWithProgress } from '../training/bmf.ts'
import { DatasetFacts } from '../training/dataset-facts.ts'
import {
  FACTORS_OPTIONS,
  FACTORS_PLACE_OPTIONS,
  foldResult,
  publishTrained,
  testResult,
  trainedText,
  trainingInput,
} from '../training/factors.ts'
import { FEATURES_OPTIONS, featuresOf, saidFeatures } from '../training/features.ts'
import { halfLifeOf, trainedHalfLife, withHalfLife } from '../training/half-life.ts'
import { readTrainingRatings } from '../training/ratings-input.ts'

/** `weir train bmf`: trains a model by Bayesian matrix factorisation and publishes it. */
export const trainBmfCommand: Command = {
  name: 'train bmf',
  summary: 'Train a model by Bayesian matrix factorisation and publish it as a version',
  options: {
    ...FACTORS_OPTIONS,
    curve: { type: 'string', value: output(), help: 'Write the learning curve as SVG' },
    ...BMF_OPTIONS,
    ...FEATURES_OPTIONS,
    intervals: {
      type: 'boolean',
      help: 'Measure the variance of ratings and publish it with the rows, for "weir predict 1 50 --interval 0.95"',
    },
    variance: {
      type: 'string',
      value: output({ takesFolder: true }),
      help: 'Also write the variances in the format of --text-rows: the variance of a rating is the inner product of two rows',
    },
    validation: {
      type: 'string',
      value: orWord(share({ above: 0, below: 1 }), 'time'),
      help: 'Share of the ratings to validate on; time: choose --who-rated by the newest tenth of the ratings, which takes two more trainings',
    },
    ...FACTORS_PLACE_OPTIONS,
  },
  details: `The rows are posterior means and have the format of "train als": every serving and learning command takes them.

Example:
  weir train bmf --ratings u1.base --test u1.test`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    await using topics = await topicsOf(flags)
    const isByTime = flags.optional('validation') === 'time'
    const asked = { ...bmfOptionsOf(flags), ...(await featuresOf(flags)) }
    if (isByTime && asked.whoRated === true) {
      throw new UsageError('--validation time chooses --who-rated; give one of them')
    }
    bmfSettings(isByTime ? { ...asked, whoRated: true } : asked)
    const curve = outputFileOf(flags, 'curve')
    const textRows = outputPlaceOf(flags, 'text-rows')
    const variance = outputPlaceOf(flags, 'variance')
    const folds = flags.optionalNumber('folds')
    const hasVariances = flags.boolean('intervals') || variance !== undefined
    const { factors, sweeps, burnIn, seed } = asked
    const facts = new DatasetFacts()
    await facts.readTopic(flags, topics, { kind: 'ratings' })
    const { table, target } = await trainingInput(flags, topics, {
      ...(factors === undefined ? {} : { factors }),
      biases: true,
      // Ids of features get rows, too: what would refuse their keys is checked with the others.
      read: async () => withFeatureIds(await readTrainingRatings(flags, io, facts), asked),
    })
    const { train, ...validation } = isByTime ? { train: table } : validationSplit(table, flags)
    const choice = isByTime ? await whoRatedBy(train, asked, io) : undefined
    const given = choice?.whoRated === true ? { ...asked, whoRated: true } : asked
    // What cannot be trained with a half-life ends the command before one is chosen.
    if (halfLifeOf(flags).halfLifeMs !== undefined) bmfSettings({ ...given, halfLifeMs: 1 })
    const half = await trainedHalfLife(flags, train, {
      io,
      train: async (older, halfLifeMs) => {
        const { store: _, ...tried } = withHalfLife(given, halfLifeMs)
        return (await trainBmf(older, tried)).model
      },
    })
    const options = withHalfLife(given, half.halfLifeMs)
    let device: AlsDeviceName = 'cpu'
    const onDevice = (name: AlsDeviceName): void => {
      device = name
    }
    const trained = await trainBmfWithProgress(
      train,
      { ...options, ...validation, variance: hasVariances, onDevice },
      io,
    )
    const { model, history, variances } = trained
    if (curve !== undefined) await writeFile(curve, bmfLearningCurve(history))
    if (textRows !== undefined) await writeTextRows(textRows, model)
    if (variance !== undefined && variances !== undefined) await writeTextRows(variance, variances)
    const hyperparameters = {
      ...{ trainer: 'bmf', factors, sweeps, burnIn, seed, biases: true },
      ...(hasVariances ? { intervals: true } : {}),
      ...(await saidFeatures(flags, given)),
      ...half.hyperparameters,
    }
    const published = {
      model,
      variances,
      train,
      trainedOn: facts.trainedOn(flags.string('ratings'), io),
      hyperparameters: Object.fromEntries(
        Object.entries(hyperparameters).filter(([, value]) => value !== undefined),
      ) as Readonly<Record<string, number | string | boolean>>,
    }
    const result: Record<string, unknown> = {
      ...summaryOf(trained, train),
      ...half.result,
      ...choice,
      ...(options.device === 'cpu' ? {} : { device }),
      ...(await testResult(flags, { model, train }, io)),
      ...(folds === undefined ? {} : await foldErrors(table, folds, options)),
      ...(await publishTrained(published, target, io)),
    }
    io.out(await trainedText(flags, result))
    return 0
  },
}

/** The choice of `--validation time`, which is said. */
async function whoRatedBy(
  table: RatingsTable,
  { store: _store, ...options }: BmfOptions,
  io: CommandIo,
): Promise<WhoRatedChoice> {
  const choice = await chooseWhoRated(
    table,
    async (older, whoRated) => (await trainBmf(older, { ...options, whoRated })).model,
  )
  io.err(chosenWhoRatedText(choice))
  return choice
}

function summaryOf({ model, history }: BmfResult, train: RatingsTable): Record<string, unknown> {
  const end = history.at(-1)
  return {
    users: model.users.length,
    items: model.items.length,
    ratings: train.size,
    dimension: model.dimension,
    ...(end === undefined ? {} : { sweep: end.sweep, noise: end.noise, trainRmse: end.trainRmse }),
    ...(end?.validationRmse === undefined ? {} : { validationRmse: end.validationRmse }),
    seconds: end?.seconds ?? 0,
  }
}

/** Errors of `--folds`; the file of the chain is that of the whole table. */
async function foldErrors(
  table: RatingsTable,
  folds: number,
  { store: _store, ...options }: BmfOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const train = async (other: RatingsTable): Promise<BmfResult['model']> =>
    (await trainBmf(other, options)).model
  return foldResult(await crossValidate(table, { folds, seed: options.seed, train }))
}
