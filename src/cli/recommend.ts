import { type Command, Flags, UsageError } from './command.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from './query-flags.ts'

/** `weir recommend USER`: the items with the largest scores, exact over the live rows. */
export const recommendCommand: Command = {
  name: 'recommend',
  summary: 'List the items with the highest predicted ratings for a user',
  usage: 'USER',
  options: {
    k: { type: 'string', value: 'N', default: '10', help: 'Items to list, 1 to 1000' },
    exclude: { type: 'string', multiple: true, value: 'ITEM', help: 'Leave out (repeatable)' },
    ...QUERY_OPTIONS,
  },
  details: `Example:
  weir recommend 1 --k 5 --exclude 50 --exclude 181`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const user = args[0]
    if (user === undefined || args.length > 1) throw new UsageError('give one user')
    await using client = await connectWith(flags)
    const answer = await client.topK(flags.string('state'), `${user}-U`, {
      ...queryOptionsOf(flags),
      k: flags.integer('k', 1, 1000),
      suffix: '-I',
      cold: 'MEAN-U',
      exclude: flags.list('exclude').map((item) => `${item}-I`),
    })
    if (!answer.ok) throw answer.error
    for (const { key, score } of answer.value) {
      const item = key.slice(0, -2)
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ item, score })
          : `${item.padEnd(12)} ${score.toFixed(4)}`,
      )
    }
    return 0
  },
}
