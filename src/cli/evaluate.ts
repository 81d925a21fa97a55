import { readPieces } from '../connectors/file/open-line-folder.ts'
import { evaluateRankingServed } from '../jobs/evaluate-ranking-served.ts'
import { type EvaluationRatings, evaluateServed } from '../jobs/evaluate-served.ts'
import { rangesOfTopic, readObservations } from '../jobs/retrain-observations.ts'
import type { Rating } from '../models/rating.ts'
import { RatingsParser } from '../models/ratings-format.ts'
import type { ErrorSummary } from '../training/metrics.ts'
import type { RankingSummary } from '../training/ranking-metrics.ts'
import { ratingsOf } from '../training/ratings-table.ts'
import { type Command, type CommandIo, Flags, UsageError } from './command.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { readDataFile } from './data-file.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka-flags.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from './query-flags.ts'
import { ratingsOfFile } from './ratings-file.ts'
import { rangeFlag } from './retrain-triggers.ts'

/** `weir evaluate`: the served model's error on held-out ratings. */
export const evaluateCommand: Command = {
  name: 'evaluate',
  summary: 'Measure the error of the served model on held-out ratings: a file or a topic',
  usage: '--ratings FILE | --observations TOPIC',
  options: {
    ratings: { type: 'string', value: 'FILE', help: 'u1.test, ratings.dat or ratings.csv' },
    observations: {
      type: 'string',
      value: 'TOPIC',
      help: 'Topic of held-out observations, user,item,rating[,seconds]',
    },
    clip: { type: 'string', value: 'MIN,MAX', help: 'Clip predictions into the rating scale' },
    top: {
      type: 'string',
      value: 'K',
      help: 'Also precision, recall and NDCG of the best K items',
    },
    'relevant-from': {
      type: 'string',
      value: 'RATING',
      help: 'Held-out ratings of at least this are relevant (default: any above 0)',
    },
    seen: {
      type: 'string',
      value: 'FILE',
      help: 'Training ratings: their items are left out of the lists',
    },
    ...QUERY_OPTIONS,
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `Every pair counts: users and items that the model does not know are predicted from mean rows and
counted as cold. Ratings are read and predicted in pieces, however many there are. --version measures a
version that is not live.

Examples:
  weir evaluate --ratings u1.test --clip 1,5
  weir evaluate --observations held-out --clip 1,5 --version 3
  weir evaluate --ratings u1.test --seen u1.base --top 10 --relevant-from 4`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const file = flags.optional('ratings') ?? args[0]
    const topic = flags.optional('observations')
    if ((file === undefined) === (topic === undefined)) {
      throw new UsageError('give either --ratings FILE or --observations TOPIC')
    }
    await using client = await connectWith(flags)
    const range = rangeFlag(flags, 'clip')
    const query = { state: flags.string('state'), query: queryOptionsOf(flags) }
    const ratings = (): EvaluationRatings =>
      topic === undefined ? piecesOfFile(file!) : piecesOfTopic(flags, topic)
    const errors = await evaluateServed(client, ratings(), {
      ...query,
      ...(range === undefined ? {} : { range }),
      onProgress: (done) => io.rewriteLine?.(`evaluated ${done} ratings`),
    })
    io.rewriteLine?.('')
    const k = flags.optionalInteger('top', 1, 1000)
    const ranking =
      k === undefined
        ? undefined
        : await evaluateRankingServed(client, ratings(), {
            ...query,
            k,
            ...(flags.optional('relevant-from') === undefined
              ? {}
              : { relevantFrom: flags.number('relevant-from') }),
            ...(await seenItems(flags)),
          })
    tell(flags, io, errors, ranking)
    return 0
  },
}

/** A file in pieces; it is never in memory as a whole. */
async function* piecesOfFile(file: string): AsyncGenerator<readonly Rating[]> {
  let piece: Rating[] = []
  const parser = new RatingsParser((user, item, rating, timestamp) =>
    piece.push({ user, item, rating, timestamp }),
  )
  const chunks = readPieces(file)[Symbol.asyncIterator]()
  const hint = 'the path of a u.data, ratings.dat or ratings.csv'
  for (;;) {
    const next = await readDataFile(file, 'ratings', hint, async () => {
      const chunk = await chunks.next()
      if (chunk.done === true) parser.end()
      else parser.push(chunk.value)
      return chunk
    })
    if (piece.length > 0) yield piece
    piece = []
    if (next.done === true) return
  }
}

async function* piecesOfTopic(flags: Flags, topic: string): AsyncGenerator<readonly Rating[]> {
  await using topics = await topicsOf(flags)
  yield* readObservations(topics, await rangesOfTopic(topics, topic))
}

async function seenItems(
  flags: Flags,
): Promise<{ readonly seen?: ReadonlyMap<string, ReadonlySet<string>> }> {
  const file = flags.optional('seen')
  if (file === undefined) return {}
  const seen = new Map<string, Set<string>>()
  for (const { user, item } of ratingsOf(await ratingsOfFile(file))) {
    const items = seen.get(user) ?? new Set<string>()
    items.add(item)
    seen.set(user, items)
  }
  return { seen }
}

function tell(
  flags: Flags,
  io: CommandIo,
  errors: ErrorSummary,
  ranking: RankingSummary | undefined,
): void {
  if (flags.boolean('json')) {
    io.out(JSON.stringify({ ...errors, ...(ranking === undefined ? {} : { ranking }) }))
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
  for (const name of ['precision', 'recall', 'ndcg'] as const) {
    const { mean, low, high } = ranking[name]
    const label = `${name === 'ndcg' ? 'NDCG' : name}@${ranking.k}`
    io.out(`${label.padEnd(13)} ${mean.toFixed(4)}  ${interval(low, high)}, ${ranking.users} users`)
  }
}
