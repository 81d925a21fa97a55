import type { WeirClient } from '../../client/weir-client.ts'
import { systemClock } from '../../core/clock.ts'
import {
  evaluateRankingServed,
  type ServedRankingOptions,
} from '../../jobs/evaluate/ranking-served.ts'
import { evaluateServed } from '../../jobs/evaluate/served.ts'
import { LeftOutRecords, leftOutText } from '../../jobs/observations/left-out.ts'
import { rangesOfTopic, readObservations } from '../../jobs/observations/topic-ranges.ts'
import type { Rating, RatingRange } from '../../models/ratings/rating.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { ratingsOf } from '../../training/data/ratings-table.ts'
import type { ErrorSummary } from '../../training/metrics/errors.ts'
import type { RankingSummary } from '../../training/metrics/ranking.ts'
import { type Command, type CommandIo, Flags, needs } from '../command/command.ts'
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
import { SharedPairs, warnOfShared } from '../training/shared-pairs.ts'

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
      needs: [needs('top')],
      value: anyNumber({}, 'RATING'),
      help: 'Held-out ratings from this value on are relevant (default: all above 0)',
    },
    seen: {
      type: 'string',
      value: input(),
      help: 'Training ratings: says how many of the held-out ones have their pairs; lists do not contain their items',
    },
    every: {
      type: 'string',
      value: seconds(),
      help: 'Measure again after this time, until Ctrl-C: one line each with the time, the version and the MSE',
    },
    ...QUERY_OPTIONS,
  },
  details: `Every pair counts. Users and items that the model does not know are predicted from mean rows and
reported as cold. Ratings are read in pieces, so a file may be larger than memory. --version measures a
version that is not live.

Examples:
  weir evaluate --ratings u1.test
  weir evaluate --observations held-out --clip 1,5 --version 3
  weir evaluate --ratings u1.test --seen u1.base --top 10 --relevant-from 4
  weir evaluate --observations held-out --every 60 --json >> mse.jsonl`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const file = flags.optional('ratings') ?? args[0]
    const topic = flags.optional('observations')
    const every = flags.optionalNumber('every')
    const reading = ratingsReadingOf(flags, io)
    const ratings = (leftOut?: LeftOutRecords): AsyncIterable<readonly Rating[]> =>
      topic === undefined ? ratingPieces(file!, reading) : piecesOfTopic(flags, topic, leftOut)
    await using client = await connectWith(flags)
    const input = { client, flags, io, reading, ratings }
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

/** What an evaluation reads and asks. */
interface EvaluationInput {
  readonly client: WeirClient
  readonly flags: Flags
  readonly io: CommandIo
  readonly reading: RatingsReading
  readonly ratings: (leftOut?: LeftOutRecords) => AsyncIterable<readonly Rating[]>
}

/** The quality of a version. */
interface Evaluation {
  readonly version: number
  readonly errors: ErrorSummary
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
}: EvaluationInput): Promise<Evaluation> {
  const query = { state: flags.string('state'), query: queryOptionsOf(flags) }
  const number = versionOf(flags, client)
  const version = await measuredVersion(flags, number)
  const range = flags.boolean('no-clip') ? undefined : clipRange(flags, version)
  const leftOut = new LeftOutRecords()
  const seen = await seenItems(flags, reading)
  const pairs = new SharedPairs({
    seen,
    read: version?.trainedOn?.files.map(({ read }) => read) ?? [],
  })
  const errors = await evaluateServed(client, pairs.counted(ratings(leftOut)), {
    ...query,
    ...(range === undefined ? {} : { range }),
    onProgress: (done) => io.rewriteLine?.(`evaluated ${done} ratings`),
  })
  io.rewriteLine?.('')
  const unread = leftOut.found()
  if (unread !== undefined) io.err(`evaluate: ${leftOutText(unread, flags.string('observations'))}`)
  warnOfShared(pairs.shared, pairs.size, io)
  const ranking = rankingOptionsOf(flags, seen)
  const lists =
    ranking &&
    (await evaluateRankingServed(client, ratings(), {
      ...query,
      ...ranking,
      items: version?.items,
    }))
  const refused = unread?.count ?? 0
  return { version: number, errors, lists, refused, sharedPairs: pairs.shared }
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

/** One line of `--every`. */
function reportAt(
  atMs: number,
  { version, errors, lists, refused, sharedPairs }: Evaluation,
  { flags, io }: Pick<EvaluationInput, 'flags' | 'io'>,
): void {
  const at = new Date(atMs).toISOString()
  if (flags.boolean('json')) {
    const ranking = lists === undefined ? {} : { ranking: lists }
    io.out(JSON.stringify({ at, version, ...errors, refused, sharedPairs, ...ranking }))
    return
  }
  const { mse, rmseLow, rmseHigh, count } = errors
  const interval = `(95 %: ${(rmseLow ** 2).toFixed(4)} to ${(rmseHigh ** 2).toFixed(4)})`
  io.out(
    `${at}  version ${version}  MSE ${mse.toFixed(4)}  ${interval}, ${counted(count, 'rating')}`,
  )
}

function report(
  { errors, lists: ranking, refused, sharedPairs }: Evaluation,
  { flags, io }: Pick<EvaluationInput, 'flags' | 'io'>,
): void {
  if (flags.boolean('json')) {
    const lists = ranking === undefined ? {} : { ranking }
    io.out(JSON.stringify({ ...errors, refused, sharedPairs, ...lists }))
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
  if (ranking === undefined) return
  for (const [name, text] of LIST_METRICS) {
    const { mean, low, high } = ranking[name]
    const label = `${text}@${ranking.k}`
    io.out(
      `${label.padEnd(13)} ${mean.toFixed(4)}  ${interval(low, high)}, ${counted(ranking.users, 'user')}`,
    )
  }
  const { k, distinctItems, coverage, novelty } = ranking
  const share = coverage === undefined ? '' : ` (${(coverage * 100).toFixed(1)} % of the version's)`
  io.out(`${`coverage@${k}`.padEnd(13)} ${counted(distinctItems, 'different item')}${share}`)
  if (novelty === undefined) return
  const { mean, low, high } = novelty
  io.out(`${`novelty@${k}`.padEnd(13)} ${mean.toFixed(4)} bits  ${interval(low, high)}`)
}
