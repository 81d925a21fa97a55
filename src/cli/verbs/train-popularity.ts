import { systemClock } from '../../core/clock.ts'
import { popularityHyperparameters } from '../../kinds/popularity/options.ts'
import { trainPopularity } from '../../kinds/popularity/train.ts'
import { crossValidate } from '../../training/als/cross-validate.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import { type Command, Flags } from '../command/command.ts'
import { outputPlaceOf } from '../files/output-file.ts'
import { writeTextRows } from '../files/text-rows-file.ts'
import { topicName } from '../flag-kinds/words.ts'
import { topicsOf } from '../flags/kafka.ts'
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
import { trainedHalfLife } from '../training/half-life.ts'
import { POPULARITY_FLAGS } from '../training/popularity-flags.ts'
import { readTrainingRatings } from '../training/ratings-input.ts'

/** `weir train popularity`: computes the damped mean of each item and publishes it, the baseline of other models. */
export const trainPopularityCommand: Command = {
  name: 'train popularity',
  summary: 'Train the baseline, the mean rating of each item, and publish it as a version',
  options: {
    ...FACTORS_OPTIONS,
    topic: {
      type: 'string',
      value: topicName,
      default: 'popularity-model',
      excludes: ['no-publish'],
      help: 'Model topic',
    },
    ...POPULARITY_FLAGS,
    ...FACTORS_PLACE_OPTIONS,
  },
  details: `Every user gets the same predictions and lists. The rows have the format of "train als" without factors: every
command for serving and learning takes them, with --topic popularity-model.

Example:
  weir train popularity --ratings u1.base --test u1.test`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    await using topics = await topicsOf(flags)
    const textRows = outputPlaceOf(flags, 'text-rows')
    const damping = flags.number('damping')
    const facts = new DatasetFacts()
    await facts.readTopic(flags, topics, { kind: 'ratings' })
    const { table, target } = await trainingInput(flags, topics, {
      read: () => readTrainingRatings(flags, io, facts),
    })
    const trainWith = (other: RatingsTable, halfLifeMs: number | undefined): AlsModel =>
      trainPopularity(other, { damping, halfLifeMs })
    const half = await trainedHalfLife(flags, table, {
      io,
      train: async (older, halfLifeMs) => trainWith(older, halfLifeMs),
    })
    const startMs = systemClock.monotonicMs()
    const model = trainWith(table, half.halfLifeMs)
    const seconds = (systemClock.monotonicMs() - startMs) / 1000
    if (textRows !== undefined) await writeTextRows(textRows, model)
    const folds = flags.optionalNumber('folds')
    const train = async (other: RatingsTable) => trainWith(other, half.halfLifeMs)
    const result: Record<string, unknown> = {
      users: model.users.length,
      items: model.items.length,
      ratings: table.size,
      dimension: model.dimension,
      seconds,
      ...half.result,
      ...(await testResult(flags, { model, train: table }, io)),
      ...(folds === undefined ? {} : foldResult(await crossValidate(table, { folds, train }))),
      ...(await publishTrained(
        {
          model,
          train: table,
          hyperparameters: { ...popularityHyperparameters({ damping }), ...half.hyperparameters },
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
