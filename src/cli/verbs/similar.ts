import { ModelRows } from '../../gateway/recommender/model-rows.ts'
import { Recommender } from '../../gateway/recommender/recommender.ts'
import { type Command, Flags } from '../command/command.ts'
import { name } from '../flag-kinds/words.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from '../flags/query.ts'
import { LIST_OPTIONS, whereOf } from './recommend.ts'

/** `weir similar`: lists the items with the highest mean cosine with some, exact over all live rows. */
export const similarCommand: Command = {
  name: 'similar',
  summary: 'List the items most similar to some items',
  positions: [{ value: name('ITEM'), isRepeated: true }],
  options: { ...LIST_OPTIONS, ...QUERY_OPTIONS },
  details: `An item is as similar to another one as the cosine of their rows says, from -1 to 1; biases do not count.
With several items, the mean counts. Items that the model does not know do not count; the given ones are left out.

Examples:
  weir similar 50 --k 5
  weir similar 50 181 --any-of DE --diversity 0.3`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    await using client = await connectWith(flags)
    const rows = new ModelRows(client, flags.string('state'))
    const recommender = new Recommender(rows, () => undefined)
    const page = {
      howMany: flags.number('k'),
      offset: 0,
      where: whereOf(flags),
      diversity: flags.number('diversity'),
    }
    for (const { id, value } of await recommender.similarity(args, page, queryOptionsOf(flags))) {
      const text = `${id.padEnd(12)} ${value.toFixed(4)}`
      io.out(flags.boolean('json') ? JSON.stringify({ item: id, cosine: value }) : text)
    }
    return 0
  },
}
