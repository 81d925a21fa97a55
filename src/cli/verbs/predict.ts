import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import type { Answer, Prediction } from '../../wire/model-reader.ts'
import {
  type IntervalPrediction,
  predictInterval,
  type RatingInterval,
} from '../../wire/rating-interval.ts'
import { type Command, Flags } from '../command/command.ts'
import { share } from '../flag-kinds/numbers.ts'
import { name } from '../flag-kinds/words.ts'
import { connectWith, QUERY_OPTIONS, queryOptionsOf } from '../flags/query.ts'

/** `weir predict`: scores items for a user. */
export const predictCommand: Command = {
  name: 'predict',
  summary: 'Predict the ratings of a user for items',
  positions: [{ value: name('USER') }, { value: name('ITEM'), isRepeated: true }],
  options: {
    ...QUERY_OPTIONS,
    interval: {
      type: 'string',
      value: share({ above: 0, below: 1 }),
      help: 'Also print where the rating is with this probability, for example 0.95 (of a version of "weir train bmf --ratings FILE --intervals")',
    },
  },
  details: `A user or item that the model does not know is predicted from the mean row and marked as cold.

Examples:
  weir predict 1 50 172 181
  weir predict 1 50 --interval 0.95`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const user = args[0]!
    const items = args.slice(1)
    await using client = await connectWith(flags)
    const options = { ...queryOptionsOf(flags), ...MEAN_IF_UNKNOWN }
    const state = flags.string('state')
    const share = flags.optionalNumber('interval')
    const answers = await Promise.all(
      items.map((item): Promise<Answer<Prediction & Partial<IntervalPrediction>>> => {
        const [left, right] = [alsKey(user, 'U'), alsKey(item, 'I')]
        if (share === undefined) return client.predictWithEnvelope(state, left, right, options)
        return predictInterval(client, { state, left, right, share }, options)
      }),
    )
    for (const [i, answer] of answers.entries()) {
      if (!answer.ok) throw answer.error
      const { score, leftCold, rightCold, interval } = answer.value
      const cold = leftCold || rightCold
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ user, item: items[i], ...answer.value, ...answer.envelope })
          : `${items[i]!.padEnd(12)} ${score.toFixed(4)}${rangeText(interval)}${cold ? '  (cold)' : ''}  version ${answer.envelope.modelVersion}`,
      )
    }
    return 0
  },
}

function rangeText(interval: RatingInterval | undefined): string {
  if (interval === undefined) return ''
  return `  ${interval.low.toFixed(4)} to ${interval.high.toFixed(4)}`
}
