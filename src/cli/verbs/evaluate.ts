import type { WeirClient } from '../../client/weir-client.ts'
import { systemClock } from '../../core/clock.ts'
import { LeftOutRecords, leftOutText } from '../../models/observations/left-out.ts'
import { rangesOfTopic, readObservations } from '../../models/observations/topic-ranges.ts'
import type { Rating, RatingRange } from '../../models/ratings/rating.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { ratingsOf } from '../../training/data/ratings-table.ts'
import {
  evaluateLists,
  evaluateRankingServed,
  type ServedRankingOptions,
} from '../../training/evaluate/ranking-served.ts'
import { evaluateServed } from '../../training/evaluate/served.ts'
import type { ErrorSummary } from '../../training/metrics/errors.ts'
import type { RankingSummary } from '../../training/metrics/ranking.ts'
import { type Command, type CommandIo, Flags, UsageError } from '../command/command.ts'
import { periodically } from '../command/periodically.ts'
import { ratingPieces, ratingsOfFile } from '../files/ratings-file.ts'
import { type RatingsReading, READING_OPTIONS, ratingsReadingOf } from '../files/ratings-reading.ts'
import { anyNumber, seconds, wholeNumber } from '../flag-kinds/numbers.ts'
import { numberRange } from '../flag-kinds/pairs.ts'
import { input } from '../flag-kinds/places.ts'
import { topicNamed } from '../flag-kinds/words.ts'
import { topicsOf } from '../flags/kafka.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from '../flags/query.ts'
import { rangeFlag } from '../flags/retrain-triggers.ts'
import { versionMetadata, versionMetadataOptions } from '../flags/version-metadata.ts'
import { counted } from '../text/counted.ts'
import { type Baseline, Baselines } from '../training/baseline.ts'
import { SharedPairs, warnOfShared } from '../training/shared-pairs.ts'
import { runStrongProtocol, STRONG_OPTIONS } from '../training/strong-protocol.ts'

/** `weir evaluate`: measures the served model on held-out ratings. */
export const evaluateCommand: Command = {
  name: 'evaluate',
  summary: 'Measure the error of the served model on the held-out ratings of a file or a topic',
  positions: [{ value: input(), orFlags: ['ratings', 'observations'] }],
  options: {
    ratings: {
      type: 'string',
      excludes: ['observations'],
      value: input(),
      help: 'Held-out ratings: a u1.test, ratings.dat or ratings.csv, or a folder of such files',
    },
    observations: {
      type: 'string',
      value: topicNamed('TOPIC'),
      help: 'Topic of held-out ratings: user,item,rating[,seconds]',
    },
    ...READING_OPTIONS,
    clip: {
      type: 'string',
      excludes: ['no-clip'],
      value: numberRange,
      help: 'Clip predictions to this range (default: the ratings that the version was trained on)',
    },
    'no-clip': { type: 'boolean', help: 'Do not clip predictions' },
    ...versionMetadataOptions('als-model'),
    top: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 1000 }, 'K'),
      help: 'Also measure lists of the best K items: precision, recall, NDCG, MAP, coverage and, with --seen, novelty',
    },
    'relevant-from': {
      type: 'string',
      value: anyNumber({}, 'RATING'),
      help: 'Held-out ratings from this value on are relevant, with --top or --protocol (default: all above 0)',
    },
    seen: {
      type: 'string',
      value: input(),
      help: 'Training ratings: says how many of the held-out ones have their pairs; lists do not contain their items, and the baseline is trained on them (default of the baseline: what the version was trained on)',
    },
    'no-baseline': {
      type: 'boolean',
      help: 'Do not measure the baseline, the mean rating of each item in the training ratings',
    },
    every: {
      type: 'string',
      value: seconds(),
      help: 'Measure again after this time, until Ctrl-C: one line each with the time, the version and the MSE',
    },
    ...STRONG_OPTIONS,
    ...QUERY_OPTIONS,
  },
  details: `Every pair counts. Users and items that the model does not know are predicted from mean rows and
reported as cold. Ratings are read in pieces, so a file may be larger than memory. --version measures a
version that is not live. The error of the baseline ("weir train popularity") on the same ratings is printed beside
that of the model, where the training ratings of the version are here.

Examples:
  weir evaluate --ratings u1.test
  weir evaluate --observations held-out --clip 1,5 --version 3
  weir evaluate --ratings u1.test --seen u1.base --top 10 --relevant-from 4
  weir evaluate --ratings u.data --protocol strong
  weir evaluate --observations held-out --every 60 --json >> mse.jsonl`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const file = flags.optional('ratings') ?? args[0]
    const topic = flags.optional('observations')
    const every = flags.optionalNumber('every')
    requireLists(flags)
    const reading = ratingsReadingOf(flags, io)
    const ratings = (leftOut?: LeftOutRecords): AsyncIterable<readonly Rating[]> =>
      topic === undefined ? ratingPieces(file!, reading) : piecesOfTopic(flags, topic, leftOut)
    await using client = await connectWith(flags)
    if (flags.optional('protocol') !== undefined) {
      const version = versionOf(flags, client)
      await runStrongProtocol({ client, flags, io, ratings: ratings(), version })
      return 0
    }
    const baselines = new Baselines(flags, io, reading)
    const input = { client, flags, io, reading, ratings, baselines }
    if (every === undefined) report(await measure(input), input)
    else {
      await periodically({ seconds: every, io }, async () => {
        const atMs = systemClock.nowMs()
        // Another version may have gone live since.
        await client.refreshRouting()
        reportAt(atMs, await measure(input), input)
      })
    }
    return 0
  },
}

/** Throws UsageError for a flag of lists where none are measured. */
function requireLists(flags: Flags): void {
  const hasBound = flags.optional('relevant-from') !== undefined
  const hasLists = flags.optional('top') ?? flags.optional('protocol')
  if (hasBound && hasLists === undefined) {
    throw new UsageError('--relevant-from needs --top or --protocol')
  }
}

/** What an evaluation reads and asks. */
interface EvaluationInput {
  readonly client: WeirClient
  readonly flags: Flags
  readonly io: CommandIo
  readonly reading: RatingsReading
  readonly ratings: (leftOut?: LeftOutRecords) => AsyncIterable<readonly Rating[]>
  readonly baselines: Baselines
}

/** The quality of a version. */
interface Evaluation {
  readonly version: number
  readonly errors: ErrorSummary
  /** Of the popularity model of the same training ratings; undefined where they are not here. */
  readonly baseline: (ErrorSummary & { readonly ranking?: RankingSummary }) | undefined
  readonly lists: RankingSummary | undefined
  /** Records of the topic that are no ratings. */
  readonly refused: number
  /** Ratings of pairs that the training has too, as far as it is known. */
  readonly sharedPairs: number
}

async function measure({
  client,
  flags,
  io,
  reading,
  ratings,
  baselines,
}: EvaluationInput): Promise<Evaluation> {
  const query = { state: flags.string('state'), query: queryOptionsOf(flags) }
  const number = versionOf(flags, client)
  const version = await measuredVersion(flags, number)
  const range = flags.boolean('no-clip') ? undefined : clipRange(flags, version)
  const leftOut = new LeftOutRecords()
  const baseline = await baselines.of(number)
  const seen = await seenItems(flags, reading)
  const pairs = new SharedPairs({
    seen,
    read: version?.trainedOn?.files.map(({ read }) => read) ?? [],
  })
  const held = pairs.counted(ratings(leftOut))
  const errors = await evaluateServed(client, baseline?.beside(held) ?? held, {
    ...query,
    ...(range === undefined ? {} : { range }),
    onProgress: (done) => io.rewriteLine?.(`evaluated ${done} ratings`),
  })
  io.rewriteLine?.('')
  const unread = leftOut.found()
  if (unread !== undefined) io.err(`evaluate: ${leftOutText(unread, flags.string('observations'))}`)
  warnOfShared(pairs.shared, pairs.size, io)
  const ranking = rankingOptionsOf(flags, seen)
  const items = version?.items
  const lists =
    ranking && (await evaluateRankingServed(client, ratings(), { ...query, ...ranking, items }))
  const listsBeside =
    ranking && baseline && (await baselineLists(baseline, ratings(), { ...ranking, items }))
  const refused = unread?.count ?? 0
  const ranked = listsBeside === undefined ? {} : { ranking: listsBeside }
  const beside = baseline && { ...baseline.errors(), ...ranked }
  const sharedPairs = pairs.shared
  return { version: number, errors, baseline: beside, lists, refused, sharedPairs }
}

/** Metrics of the list of the baseline, which each user gets without the items that the user knows. */
function baselineLists(
  baseline: Baseline,
  ratings: AsyncIterable<readonly Rating[]>,
  options: Omit<ServedRankingOptions, 'state' | 'query'>,
): Promise<RankingSummary> {
  return evaluateLists((_user, seen) => baseline.list(options.k, seen), ratings, options)
}

/** The version of `--version`, else the live one; 0 if none is live. */
function versionOf(flags: Flags, client: WeirClient): number {
  const state = client.routing.states.find(({ name }) => name === flags.string('state'))
  return flags.optionalNumber('version') ?? state?.liveVersion ?? 0
}

/** Metadata of the version that is measured, where it is known. */
async function measuredVersion(
  flags: Flags,
  number: number,
): Promise<ModelVersionMarker | undefined> {
  const isComplete = flags.boolean('no-clip') || flags.optional('clip') !== undefined
  // Without lists, only the range is needed.
  if (isComplete && flags.optional('top') === undefined) return undefined
  return (await versionMetadata(flags)).get(number)
}

/** The range of `--clip`, else that of the ratings that the version was trained on, where it is known. */
function clipRange(flags: Flags, version: ModelVersionMarker | undefined): RatingRange | undefined {
  const given = rangeFlag(flags, 'clip')
  if (given !== undefined) return given
  const { minRating: min, maxRating: max } = version ?? {}
  return min === undefined || max === undefined ? undefined : { min, max }
}

/** Options of the evaluation of lists; undefined without `--top`. */
function rankingOptionsOf(
  flags: Flags,
  seen: SeenItems | undefined,
): Omit<ServedRankingOptions, 'state' | 'query'> | undefined {
  const k = flags.optionalNumber('top')
  if (k === undefined) return undefined
  const hasBound = flags.optional('relevant-from') !== undefined
  const bound = hasBound ? { relevantFrom: flags.number('relevant-from') } : {}
  return { k, ...bound, ...(seen === undefined ? {} : { seen }) }
}

async function* piecesOfTopic(
  flags: Flags,
  topic: string,
  leftOut = new LeftOutRecords(),
): AsyncGenerator<readonly Rating[]> {
  await using topics = await topicsOf(flags)
  yield* readObservations(topics, await rangesOfTopic(topics, topic), leftOut.onBad)
}

/** Items of a training by user. */
type SeenItems = ReadonlyMap<string, ReadonlySet<string>>

/** The training ratings of `--seen`; undefined without it. */
async function seenItems(flags: Flags, reading: RatingsReading): Promise<SeenItems | undefined> {
  const file = flags.optional('seen')
  if (file === undefined) return undefined
  const seen = new Map<string, Set<string>>()
  for (const { user, item } of ratingsOf(await ratingsOfFile(file, reading))) {
    const items = seen.get(user) ?? new Set<string>()
    items.add(item)
    seen.set(user, items)
  }
  return seen
}

/** Metrics of lists that are means over users, with their labels. */
const LIST_METRICS = [
  ['precision', 'precision'],
  ['recall', 'recall'],
  ['ndcg', 'NDCG'],
  ['map', 'MAP'],
] as const

/** The parts that were measured. */
function partsOf(parts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined))
}

function besideText(baseline: number | undefined): string {
  return baseline === undefined ? '' : `, baseline ${baseline.toFixed(4)}`
}

/** One line of `--every`. */
function reportAt(
  atMs: number,
  { version, errors, baseline, lists, refused, sharedPairs }: Evaluation,
  { flags, io }: Pick<EvaluationInput, 'flags' | 'io'>,
): void {
  const at = new Date(atMs).toISOString()
  if (flags.boolean('json')) {
    const others = partsOf({ baseline, ranking: lists })
    io.out(JSON.stringify({ at, version, ...errors, refused, sharedPairs, ...others }))
    return
  }
  const { mse, rmseLow, rmseHigh, count } = errors
  const interval = `(95 %: ${(rmseLow ** 2).toFixed(4)} to ${(rmseHigh ** 2).toFixed(4)})`
  const beside = besideText(baseline?.mse)
  io.out(
    `${at}  version ${version}  MSE ${mse.toFixed(4)}  ${interval}${beside}, ${counted(count, 'rating')}`,
  )
}

function report(
  { version, errors, baseline, lists: ranking, refused, sharedPairs }: Evaluation,
  { flags, io }: Pick<EvaluationInput, 'flags' | 'io'>,
): void {
  if (flags.boolean('json')) {
    io.out(JSON.stringify({ ...errors, refused, sharedPairs, ...partsOf({ baseline, ranking }) }))
    return
  }
  const interval = (low: number, high: number): string =>
    `(95 %: ${low.toFixed(4)} to ${high.toFixed(4)})`
  const { known, coldUser, coldItem, coldBoth } = errors.coverage
  const { mse, rmse, rmseLow, rmseHigh, mae, maeLow, maeHigh } = errors
  io.out(`ratings   ${errors.count}`)
  io.out(`RMSE      ${rmse.toFixed(4)}  ${interval(rmseLow, rmseHigh)}`)
  io.out(`MSE       ${mse.toFixed(4)}  ${interval(rmseLow ** 2, rmseHigh ** 2)}`)
  io.out(`MAE       ${mae.toFixed(4)}  ${interval(maeLow, maeHigh)}`)
  io.out(
    `coverage  ${known} known, ${coldUser} cold users, ${coldItem} cold items, ${coldBoth} both cold`,
  )
  if (baseline !== undefined) {
    io.out(`baseline  RMSE ${baseline.rmse.toFixed(4)}, of the mean rating of each item`)
  } else if (!flags.boolean('no-baseline')) {
    io.err(
      `evaluate: no baseline, as the ratings that version ${version} was trained on are not here; name them with --seen, or leave it out with --no-baseline`,
    )
  }
  if (ranking === undefined) return
  const beside = baseline?.ranking
  for (const [name, text] of LIST_METRICS) {
    const { mean, low, high } = ranking[name]
    const label = `${text}@${ranking.k}`
    io.out(
      `${label.padEnd(13)} ${mean.toFixed(4)}  ${interval(low, high)}, ${counted(ranking.users, 'user')}${besideText(beside?.[name].mean)}`,
    )
  }
  const { k, distinctItems, coverage, novelty } = ranking
  const share = coverage === undefined ? '' : ` (${(coverage * 100).toFixed(1)} % of the version's)`
  io.out(`${`coverage@${k}`.padEnd(13)} ${counted(distinctItems, 'different item')}${share}`)
  if (novelty === undefined) return
  const { mean, low, high } = novelty
  io.out(`${`novelty@${k}`.padEnd(13)} ${mean.toFixed(4)} bits  ${interval(low, high)}`)
}
