import { alsKey, idOfKey, KEY_SUFFIXES, MEAN_KEYS } from '../../models/als/row-key.ts'
import { type Command, Flags, missingArguments } from '../command/command.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from '../flags/query.ts'

/** `weir recommend`: lists the items with the highest scores, exact over all live rows. */
export const recommendCommand: Command = {
  name: 'recommend',
  summary: 'List the items with the highest predicted ratings for a user',
  usage: 'USER',
  options: {
    k: { type: 'string', value: 'N', default: '10', help: 'Number of items, 1 to 1000' },
    exclude: {
      type: 'string',
      multiple: true,
      value: 'ITEM',
      help: 'Item to leave out (repeatable)',
    },
    ...QUERY_OPTIONS,
  },
  details: `For a user that the model does not know, the items of the mean user are listed, and a note says so.

Example:
  weir recommend 1 --k 5 --exclude 50 --exclude 181`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const user = args[0]
    if (user === undefined) throw missingArguments(recommendCommand)
    await using client = await connectWith(flags)
    const answer = await client.topK(flags.string('state'), alsKey(user, 'U'), {
      ...queryOptionsOf(flags),
      k: flags.integer('k', 1, 1000),
      suffix: KEY_SUFFIXES.I,
      cold: MEAN_KEYS.U,
      exclude: flags.list('exclude').map((item) => alsKey(item, 'I')),
    })
    if (!answer.ok) throw answer.error
    const [row] = await client.rows(flags.string('state'), [alsKey(user, 'U')], {
      ...queryOptionsOf(flags),
      version: answer.envelope.modelVersion,
    })
    // The version that answered has no row of the user.
    const isCold = row?.ok === false && row.error.code === 'UNKNOWN_KEY'
    if (isCold) {
      io.err(`the model does not know user ${user}: these are the items for its mean user (cold)`)
    }
    for (const { key, score } of answer.value) {
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
