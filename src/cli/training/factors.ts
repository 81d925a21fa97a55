import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import { dataMetrics, type MeasuredRatings } from '../../kinds/factors/data-metrics.ts'
import { publishAls } from '../../kinds/factors/publish.ts'
import { checkKeyLength } from '../../models/publish/key-length.ts'
import { refuseOtherRows } from '../../models/publish/topic-dimension.ts'
import type { VersionChoice } from '../../models/publish/version-to-publish.ts'
import type { TrainedOn } from '../../models/registry/ranges/trained-on.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import type { CrossValidation } from '../../training/als/cross-validate.ts'
import { evaluateAls } from '../../training/als/evaluate.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import type { RatingsSource } from '../../training/als/solver/sides.ts'
import type { RowVariances } from '../../training/bmf/score-variances.ts'
import { pairsSharedWith, type RatingsTable } from '../../training/data/ratings-table.ts'
import type { MeasuredLists } from '../../training/evaluate/strong.ts'
import type { MeanEstimate, RankingSummary } from '../../training/metrics/ranking.ts'
import type { CommandIo, Flags, OptionSpec } from '../command/command.ts'
import { ratingsOfFile } from '../files/ratings-file.ts'
import { READING_OPTIONS, ratingsReadingOf } from '../files/ratings-reading.ts'
import { share, wholeNumber } from '../flag-kinds/numbers.ts'
import { input, output } from '../flag-kinds/places.ts'
import { topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS } from '../flags/kafka.ts'
import { KEY_LENGTH_OPTION, maxKeyBytesOf } from '../flags/key-length.ts'
import {
  PUBLISHED_VERSION_OPTIONS,
  promotionHint,
  publishedVersionOf,
} from '../flags/published-version.ts'
import { counted } from '../text/counted.ts'
import { IN_TOPIC_OPTION } from './dataset-facts.ts'
import { HALF_LIFE_OPTION } from './half-life.ts'
import { warnOfShared } from './shared-pairs.ts'

/** Flags about the version, which count for nothing where none is published. */
const UNLESS_NOT_PUBLISHED = Object.fromEntries(
  Object.entries<OptionSpec>({
    topic: { type: 'string', value: topicName, default: 'als-model', help: 'Model topic' },
    ...PUBLISHED_VERSION_OPTIONS,
  }).map(([name, spec]) => [name, { ...spec, excludes: ['no-publish'] }]),
)

/** Flags of every command that trains a factor model on a file: what it reads, writes and publishes. */
export const FACTORS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ratings: {
    type: 'string',
    isRequired: true,
    value: input(),
    help: 'Training ratings: a u.data, ratings.dat, ratings.csv, Parquet or Arrow file, or a folder of such files, at a path or an hdfs:// URL',
  },
  test: { type: 'string', value: input(), help: 'Held-out ratings to measure the error on' },
  ...READING_OPTIONS,
  ...HALF_LIFE_OPTION,
  ...UNLESS_NOT_PUBLISHED,
  'text-rows': {
    type: 'string',
    value: output({ takesFolder: true }),
    help: 'Also write the rows as text, "<id>,U|I,f1;f2;...", to a path or an hdfs:// URL; with "/" at its end to a folder, users.txt and items.txt',
  },
  ...IN_TOPIC_OPTION,
  folds: {
    type: 'string',
    value: wholeNumber({ min: 2 }),
    help: 'Also cross-validate with N folds: the RMSE of left-out ratings; with --implicit, lists for left-out users',
  },
  'leave-out-users': {
    type: 'string',
    value: share({ above: 0, below: 1 }),
    help: 'Train without this share of the users, chosen by their ids and the seed: "weir evaluate FILE --protocol strong" measures on them',
  },
  'no-publish': { type: 'boolean', help: 'Train without publishing the model' },
}

/** Flags of the same commands: where the model is published. */
export const FACTORS_PLACE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...KEY_LENGTH_OPTION,
  ...KAFKA_OPTIONS,
  ...DATA_DIR_OPTION,
}

/** Place of a version to publish. */
export interface PublishTarget {
  readonly topics: TopicStore
  readonly topic: string
  readonly choice: VersionChoice & {
    readonly registry: ModelRegistry
    readonly maxKeyBytes: number
  }
}

/** What `trainingInput` reads, and what the rows will be. */
export interface InputToRead<T> {
  readonly factors?: number
  readonly biases?: boolean
  read(): Promise<T>
}

/**
 * The training ratings, and where to publish (undefined with `--no-publish`). What would refuse the
 * version at the end is checked first: version, keys, dimension.
 */
export async function trainingInput<
  T extends { readonly users: readonly string[]; readonly items: readonly string[] },
>(
  flags: Flags,
  topics: TopicStore,
  input: InputToRead<T>,
): Promise<{ readonly table: T; readonly target: PublishTarget | undefined }> {
  const maxKeyBytes = maxKeyBytesOf(flags)
  const topic = flags.string('topic')
  const choice = flags.boolean('no-publish')
    ? undefined
    : await publishedVersionOf(flags, topics, topic)
  const table = await input.read()
  if (choice === undefined) return { table, target: undefined }
  for (const id of table.users) checkKeyLength(id, 'U', maxKeyBytes)
  for (const id of table.items) checkKeyLength(id, 'I', maxKeyBytes)
  await refuseOtherRows(topics, topic, { ...input, version: choice.version ?? 0 })
  return { table, target: { topics, topic, choice: { ...choice, maxKeyBytes } } }
}

/** Publishes a trained model; topic and version for the result. */
export async function publishTrained(
  {
    model,
    train,
    hyperparameters,
    trainedOn,
    variances,
  }: {
    readonly model: AlsModel
    readonly variances?: RowVariances | undefined
    readonly train: MeasuredRatings
    readonly hyperparameters?: Hyperparameters
    readonly trainedOn: TrainedOn
  },
  target: PublishTarget | undefined,
  io: CommandIo,
): Promise<{ readonly topic?: string; readonly version?: number }> {
  if (target === undefined) return {}
  const { topics, topic, choice } = target
  const version = await publishAls(model, {
    log: topics,
    topic,
    ...choice,
    clock: systemClock,
    metrics: dataMetrics(train),
    trainedOn,
    ...(variances === undefined ? {} : { variances }),
    ...(hyperparameters === undefined ? {} : { hyperparameters }),
    onWarning: (warning) => io.err(`warning: ${warning}`),
  })
  return { topic, version }
}

/** Errors on the ratings of `--test`. */
export async function testResult(
  flags: Flags,
  { model, train }: { readonly model: AlsModel; readonly train: RatingsSource },
  io: CommandIo,
): Promise<Readonly<Record<string, unknown>>> {
  const test = flags.optional('test')
  if (test === undefined) return {}
  const { held, ...shared } = await heldOutRatings(test, train, { flags, io })
  const { rmse, coverage } = evaluateAls(model, held)
  return { rmse, coverage, ...shared }
}

/**
 * The ratings of `--test`. Warns of those whose pairs the training has, too; where it is not in memory, that is not
 * known.
 */
export async function heldOutRatings(
  test: string,
  train: RatingsSource,
  { flags, io }: { readonly flags: Flags; readonly io: CommandIo },
): Promise<{ readonly held: RatingsTable; readonly sharedPairs?: number }> {
  const held = await ratingsOfFile(test, ratingsReadingOf(flags, io))
  if ('sides' in train) return { held }
  const sharedPairs = pairsSharedWith(held, train)
  warnOfShared(sharedPairs, held.size, io)
  return { held, sharedPairs }
}

/** Errors of `--folds`. */
export function foldResult({ rmse, folds }: CrossValidation): Readonly<Record<string, unknown>> {
  return { crossValidatedRmse: rmse, foldRmse: folds.map((fold) => fold.rmse) }
}

/** The report of a training: JSON with `--json`, else a sentence. */
export async function trainedText(
  flags: Flags,
  result: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { topic, version } = result
  const hint = topic === undefined ? '' : await promotionHint(flags, String(topic), Number(version))
  return flags.boolean('json') ? JSON.stringify(result) : sentence(result) + hint
}

/** Names the device if `--device` is not cpu. */
function deviceText(device: unknown): string {
  if (device === undefined) return ''
  return device === 'cpu' ? ' on the CPU' : ` on the GPU (${device})`
}

function sentence(result: Readonly<Record<string, unknown>>): string {
  const parts = [
    `${counted(Number(result['users']), 'user')} x ${counted(Number(result['items']), 'item')}, ${counted(Number(result['ratings']), 'rating')} in ${Number(result['seconds']).toFixed(2)} s${deviceText(result['device'])}`,
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
  const strong = result['strong'] as MeasuredLists | undefined
  if (strong !== undefined) parts.push(strongText(strong))
  const place =
    result['topic'] === undefined
      ? ''
      : `; published as version ${result['version']} to topic ${result['topic']}`
  return parts.join(', ') + place
}

/** The measures of the folds by user, each with half the width of its interval. */
function strongText({ users, recall20, recall50, ndcg100 }: MeasuredLists): string {
  const text = ({ mean, high }: MeanEstimate): string =>
    `${mean.toFixed(4)} +- ${(high - mean).toFixed(4)}`
  return `for ${counted(users, 'user')} left out: recall@20 ${text(recall20)}, recall@50 ${text(recall50)}, NDCG@100 ${text(ndcg100)}`
}
