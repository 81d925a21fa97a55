import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import { type Command, Flags } from '../command/command.ts'
import { name } from '../flag-kinds/words.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from '../flags/query.ts'

/** `weir predict`: scores items for a user. */
export const predictCommand: Command = {
  name: 'predict',
  summary: 'Predict the ratings of a user for items',
  positions: [{ value: name('USER') }, { value: name('ITEM'), isRepeated: true }],
  options: QUERY_OPTIONS,
  details: `A user or item that the model does not know is predicted from the mean row and marked as cold.

Example:
  weir predict 1 50 172 181`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const user = args[0]!
    const items = args.slice(1)
    await using client = await connectWith(flags)
    const options = { ...queryOptionsOf(flags), ...MEAN_IF_UNKNOWN }
    const state = flags.string('state')
    const answers = await Promise.all(
      items.map((item) =>
        client.predictWithEnvelope(state, alsKey(user, 'U'), alsKey(item, 'I'), options),
      ),
    )
    for (const [i, answer] of answers.entries()) {
      if (!answer.ok) throw answer.error
      const { score, leftCold, rightCold } = answer.value
      const cold = leftCold || rightCold
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ user, item: items[i], score, leftCold, rightCold, ...answer.envelope })
          : `${items[i]!.padEnd(12)} ${score.toFixed(4)}${cold ? '  (cold)' : ''}  version ${answer.envelope.modelVersion}`,
      )
    }
    return 0
  },
}
