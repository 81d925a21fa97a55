import { systemClock } from '../../core/clock.ts'
import { publishRows } from '../../kinds/factors/rows.ts'
import { refuseOtherRows } from '../../models/publish/topic-dimension.ts'
import { sparkRowFiles } from '../../models/spark/factor-rows.ts'
import { sparkFacts } from '../../models/spark/training-facts.ts'
import { alsHyperparameters, alsSettings } from '../../training/als/solver/options.ts'
import { runSpark } from '../../training/spark/run.ts'
import { type CommandIo, type Flags, UsageError } from '../command/command.ts'
import { ratingFiles } from '../files/ratings-file.ts'
import { ratingsReadingOf } from '../files/ratings-reading.ts'
import { alsOptionsOf } from '../flags/als-training.ts'
import { topicsOf } from '../flags/kafka.ts'
import { maxKeyBytesOf } from '../flags/key-length.ts'
import { publishedVersionOf } from '../flags/published-version.ts'
import { trainedText } from '../training/factors.ts'
import { sparkOptions, sparkRunOf } from './options.ts'
import { sparkFolderOf, sparkUrlOf, sparkUserOf } from './places.ts'
import { ratingsLayout } from './ratings-layout.ts'
import { sparkTestErrors } from './test-errors.ts'

/** The flags of `weir train als` by which Spark trains. */
export const SPARK_ALS_OPTIONS = sparkOptions([
  ...['threads', 'device', 'solver', 'cg-steps', 'memory', 'validation', 'patience', 'folds'],
  ...['half-life', 'leave-out-users', 'curve', 'text-rows', 'weight', 'in-topic'],
])

/**
 * Trains factors on Spark, and publishes them as a version; returns the exit status. Rows are read and sent in pieces. Throws
 * UsageError for flags that MLlib has no counterpart of, and as `runSpark`.
 */
export async function trainAlsOnSpark(
  flags: Flags,
  io: CommandIo,
  id: string = crypto.randomUUID(),
): Promise<number> {
  const startMs = systemClock.monotonicMs()
  const options = sparkAlsOptionsOf(flags)
  const { factors, iterations, regularization, feedback, alpha, seed } = alsSettings(options)
  const countBadLines = badLinesOf(flags) === 'count'
  const ratings = flags.string('ratings')
  const run = sparkRunOf(flags, io)
  await using folder = sparkFolderOf(flags, id)
  const env = { ...run.env, ...sparkUserOf([ratings, folder.place]) }
  await using topics = await topicsOf(flags)
  const topic = flags.string('topic')
  const choice = flags.boolean('no-publish')
    ? undefined
    : await publishedVersionOf(flags, topics, topic)
  if (choice !== undefined) {
    await refuseOtherRows(topics, topic, { ...options, version: choice.version ?? 0 })
  }
  const [first] = await ratingFiles(ratings)
  const layout = await ratingsLayout(
    first!.place,
    ratingsReadingOf(flags, io).of(ratings, first!.place).options,
  )
  await runSpark(
    {
      ...{ kind: 'als', ratings: sparkUrlOf(ratings), ...layout, countBadLines },
      ...{ factors, iterations, regularization, alpha, seed },
      ...{ implicit: feedback === 'implicit', out: folder.url },
    },
    { ...run, env },
  )
  const names = ['ratings', 'min', 'max', 'mean', 'badLines']
  const {
    ratings: count,
    min,
    max,
    mean,
    badLines,
    trainRmse,
  } = await sparkFacts(folder.place, names)
  const seconds = (systemClock.monotonicMs() - startMs) / 1000
  const files = await sparkRowFiles(folder.place, { hasCounts: true })
  const range = { min: min!, max: max! }
  const errors = await sparkTestErrors(flags, io, { files, range })
  const error = trainRmse === undefined ? {} : { trainRmse }
  const published =
    choice === undefined
      ? await countedRows(files)
      : await publishRows(files, {
          ...{ log: topics, topic, ...choice, clock: systemClock },
          maxKeyBytes: maxKeyBytesOf(flags),
          facts: {
            ...{ globalMean: mean!, minRating: range.min, maxRating: range.max },
            hyperparameters: { ...alsHyperparameters(options), engine: 'spark' },
            metrics: {
              ...{ observations: count!, unparsable: badLines!, ...error },
              ...{ smallestRating: range.min, largestRating: range.max },
            },
          },
          onWarning: (warning) => io.err(`warning: ${warning}`),
        })
  const { version, ...shape } = published
  const place = version === undefined ? {} : { topic, version }
  const result = {
    ...shape,
    ratings: count,
    ...error,
    seconds,
    ...errors,
    ...place,
    engine: 'spark',
  }
  io.out(await trainedText(flags, result))
  return 0
}

/** The options of the flags, as far as MLlib has them: no biases, and a penalty that grows with the ratings of a row. */
function sparkAlsOptionsOf(flags: Flags) {
  const options = alsOptionsOf(flags)
  if (options.biases === true) {
    throw new UsageError(
      "Spark's ALS has no biases: give --no-biases, or --implicit for usage counts",
    )
  }
  if (options.penalty !== undefined && options.penalty !== 'n') {
    throw new UsageError(`Spark's ALS has --penalty n only, not ${options.penalty}`)
  }
  if (options.feedback === 'implicit' && flags.optional('test') !== undefined) {
    throw new UsageError(
      '--test with --implicit needs all rows in memory: leave out --engine spark',
    )
  }
  return { ...options, penalty: 'n' as const }
}

function badLinesOf(flags: Flags): 'fail' | 'count' {
  const mode = flags.string('bad-lines')
  if (mode === 'fail' || mode === 'count') return mode
  throw new UsageError('--engine spark takes --bad-lines fail or count: it writes no file of them')
}

/** The shape of rows that are not published. */
async function countedRows(files: Awaited<ReturnType<typeof sparkRowFiles>>) {
  let [users, items, dimension] = [0, 0, 0]
  for await (const { kind, vector } of files.rows(() => {})) {
    if (kind === 'U') users += 1
    else items += 1
    dimension = vector.length
  }
  return { version: undefined, users, items, dimension }
}
