import type { WeirClient } from '../../client/weir-client.ts'
import { ModelRows } from '../../gateway/recommender/model-rows.ts'
import { Recommender } from '../../gateway/recommender/recommender.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import {
  evaluateStrong,
  LEAST_ITEMS,
  type ListForItems,
  type StrongSummary,
} from '../../training/evaluate/strong.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import { type CommandIo, type Flags, needs, type OptionSpec } from '../command/command.ts'
import { share, wholeNumber } from '../flag-kinds/numbers.ts'
import { word } from '../flag-kinds/words.ts'
import { queryOptionsOf } from '../flags/query.ts'
import { counted } from '../text/counted.ts'

/** Flags of an evaluation on users that the training never saw. */
export const STRONG_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  protocol: {
    type: 'string',
    value: word(['strong'], 'NAME'),
    excludes: ['top', 'seen', 'clip', 'no-clip', 'no-baseline', 'every'],
    help: 'strong: of users that the version has no row of, fold in a part of the items and rank the rest: recall at 20 and 50, NDCG at 100',
  },
  'fold-in': {
    type: 'string',
    needs: [needs('protocol')],
    value: share({ above: 0, below: 1 }),
    default: '0.8',
    help: 'Share of the items of each user that are folded in',
  },
  seed: {
    type: 'string',
    needs: [needs('protocol')],
    value: wholeNumber(),
    default: '1',
    help: 'Seed of the choice of these items',
  },
}

/** What `runStrongProtocol` reads and asks. */
export interface StrongProtocol {
  readonly client: WeirClient
  readonly flags: Flags
  readonly io: CommandIo
  readonly ratings: AsyncIterable<readonly Rating[]>
  readonly version: number
}

/** Measures the lists for users that the version has no row of, and prints them. Rejects as `evaluateStrong`. */
export async function runStrongProtocol(protocol: StrongProtocol): Promise<void> {
  const { client, flags, io, ratings, version } = protocol
  const state = flags.string('state')
  const query = { ...queryOptionsOf(flags), version }
  const rows = new ModelRows(client, state)
  const foldIn = flags.number('fold-in')
  const seed = flags.number('seed')
  const hasBound = flags.optional('relevant-from') !== undefined
  const summary = await evaluateStrong(client, listsOf(rows, query), ratings, {
    ...{ state, query, foldIn, seed },
    ...(hasBound ? { relevantFrom: flags.number('relevant-from') } : {}),
    areCounts: await rows.isImplicit(version),
    onProgress: (users) => io.rewriteLine?.(`ranked for ${counted(users, 'user')}`),
  })
  io.rewriteLine?.('')
  if (flags.boolean('json')) io.out(JSON.stringify({ version, foldIn, seed, ...summary }))
  else for (const line of linesOf(summary, version)) io.out(line)
}

/** Lists as the gateway answers `/recommendToAnonymous`. */
function listsOf(rows: ModelRows, query: QueryOptions): ListForItems {
  const recommender = new Recommender(rows, () => undefined)
  return async (items, howMany) => {
    const list = await recommender.recommendToAnonymous(items, { howMany, offset: 0 }, query)
    return list.map(({ id }) => id)
  }
}

function linesOf(summary: StrongSummary, version: number): string[] {
  const { users, foldedIn, knownUsers, smallUsers, unknownItems } = summary
  const measures = [
    ['Recall@20', summary.recall20],
    ['Recall@50', summary.recall50],
    ['NDCG@100', summary.ndcg100],
  ] as const
  return [
    `users      ${users} that version ${version} has no row of, ${foldedIn.toFixed(1)} items folded in on average`,
    `left out   ${counted(knownUsers, 'user')} of the version, ${counted(smallUsers, 'user')} with fewer than ${LEAST_ITEMS} items or nothing relevant, ${counted(unknownItems, 'item')} without a row`,
    ...measures.map(
      ([name, { mean, low, high }]) =>
        `${name.padEnd(10)} ${mean.toFixed(4)}  (95 %: ${low.toFixed(4)} to ${high.toFixed(4)})`,
    ),
  ]
}
