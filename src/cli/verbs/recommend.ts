import type { WeirClient } from '../../client/weir-client.ts'
import { Histories, hasHistories } from '../../gateway/recommender/histories.ts'
import { candidatesOf, ModelRows } from '../../gateway/recommender/model-rows.ts'
import { alsKey, idOfKey, KEY_SUFFIXES, MEAN_KEYS } from '../../models/als/row-key.ts'
import { boostsIn } from '../../models/item-tags.ts'
import type { TagRules } from '../../wire/model-reader.ts'
import { type Command, Flags, type OptionSpec } from '../command/command.ts'
import { share, wholeNumber } from '../flag-kinds/numbers.ts'
import { address, addressOf } from '../flag-kinds/places.ts'
import { tagFactor } from '../flag-kinds/tag-factor.ts'
import { name } from '../flag-kinds/words.ts'
import {
  connectionOf,
  connectTo,
  connectWith,
  QUERY_OPTIONS,
  queryOptionsOf,
} from '../flags/query.ts'

/** What to do where no histories listen. */
const NO_HISTORIES = 'start the histories ("weir run histories"), or give the port where they are'

/** What a list of items has: how many, rules over their tags, how much they differ. */
export const LIST_OPTIONS: Readonly<
  Record<'k' | 'any-of' | 'none-of' | 'boost' | 'diversity', OptionSpec>
> = {
  k: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 1000 }),
    default: '10',
    help: 'Number of items, 1 to 1000',
  },
  'any-of': {
    type: 'string',
    multiple: true,
    value: name('TAG'),
    help: 'Only items with this tag, or with another that is given so (repeatable); the job has tags with --tags',
  },
  'none-of': {
    type: 'string',
    multiple: true,
    value: name('TAG'),
    help: 'Only items without this tag (repeatable)',
  },
  boost: {
    type: 'string',
    multiple: true,
    value: tagFactor,
    help: 'Factor of the scores of items with this tag, such as NEW:1.2 (repeatable, up to eight tags); it divides scores below 0',
  },
  diversity: {
    type: 'string',
    value: share(),
    default: '0',
    help: 'How much the items differ: 0 is the order of the scores, 1 looks at likeness alone (up to 100 items)',
  },
}

/** `weir recommend`: lists the items with the highest scores, exact over all live rows. */
export const recommendCommand: Command = {
  name: 'recommend',
  summary: 'List the items with the highest predicted ratings for a user',
  positions: [{ value: name('USER') }],
  options: {
    ...LIST_OPTIONS,
    exclude: {
      type: 'string',
      multiple: true,
      value: name('ITEM'),
      help: 'Item to leave out (repeatable)',
    },
    histories: {
      type: 'string',
      value: address,
      help: 'Query port of "weir run histories": the list leaves out the items that the user rated',
    },
    'consider-known-items': {
      type: 'boolean',
      help: 'Keep items that the user rated in the list, although there are histories',
    },
    ...QUERY_OPTIONS,
  },
  details: `For a user that the model does not know, the items of the mean user are listed, and a note says so.
A model does not say which items a user has rated. Without histories, the list may have them.

Examples:
  weir recommend 1 --k 5 --exclude 50 --exclude 181
  weir recommend 1 --any-of DE --none-of SOLD_OUT
  weir recommend 1 --boost NEW:1.2
  weir recommend 1 --diversity 0.3
  weir recommend 1 --histories 127.0.0.1:9070`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const user = args[0]!
    await using client = await connectWith(flags)
    const without = [...flags.list('exclude'), ...(await knownItems(flags, client, user))]
    const most = flags.number('k')
    const diversity = flags.number('diversity')
    const answer = await client.topK(flags.string('state'), alsKey(user, 'U'), {
      ...queryOptionsOf(flags),
      k: candidatesOf(most, diversity),
      suffix: KEY_SUFFIXES.I,
      cold: MEAN_KEYS.U,
      exclude: without.map((item) => alsKey(item, 'I')),
      where: whereOf(flags),
    })
    if (!answer.ok) throw answer.error
    const options = { ...queryOptionsOf(flags), version: answer.envelope.modelVersion }
    const rows = new ModelRows(client, flags.string('state'))
    const list = await rows.diverse(answer.value, { diversity, most }, options)
    const [row] = await client.rows(flags.string('state'), [alsKey(user, 'U')], options)
    // The version that answered has no row of the user.
    const isCold = row?.ok === false && row.error.code === 'UNKNOWN_KEY'
    if (isCold) {
      io.err(`the model does not know user ${user}: these are the items for its mean user (cold)`)
    }
    for (const { key, score } of list) {
      const item = idOfKey(key)
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ item, score, userCold: isCold })
          : `${item.padEnd(12)} ${score.toFixed(4)}`,
      )
    }
    return 0
  },
}

/** The rules of a list, as flags say them. */
export function whereOf(flags: Flags): TagRules {
  return {
    anyOf: flags.list('any-of'),
    noneOf: flags.list('none-of'),
    boost: boostsIn(flags.list('boost')),
  }
}

/** The items that a user rated, as far as the list leaves them out. */
async function knownItems(
  flags: Flags,
  client: WeirClient,
  user: string,
): Promise<Iterable<string>> {
  const place = flags.optional('histories')
  const options = queryOptionsOf(flags)
  const isWanted = !flags.boolean('consider-known-items')
  if (!isWanted || (place === undefined && !hasHistories(client))) return []
  if (place === undefined) return (await new Histories(client).knownItems(user, options)).keys()
  const connection = { ...connectionOf(flags), ...addressOf(place) }
  await using histories = await connectTo(connection, NO_HISTORIES)
  return (await new Histories(histories).knownItems(user, options)).keys()
}
