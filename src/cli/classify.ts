import { readPieces } from '../connectors/file/open-line-folder.ts'
import { predictExamples } from '../jobs/evaluate-classifier.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { LINEAR_QUERY_OPTIONS, linearQueryOf } from './linear-query-flags.ts'
import { connectWith } from './query-flags.ts'

/** `weir classify`: labels of examples under the served linear model. */
export const classifyCommand: Command = {
  name: 'classify',
  summary: 'Predict the labels of examples with the served linear model',
  usage: 'FEATURE:VALUE... | --examples FILE',
  options: {
    examples: {
      type: 'string',
      value: 'FILE',
      help: 'LIBSVM text, a path or an hdfs:// URL; every line is predicted',
    },
    ...LINEAR_QUERY_OPTIONS,
  },
  details: `A line is the label, the decision value, and how many of the features the model has no weight for.

Examples:
  weir classify 3:1 11:1 14:1
  weir classify --examples a9a.t --json`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const file = flags.optional('examples')
    if ((file === undefined) === (args.length === 0)) {
      throw new UsageError('give the features of one example, or --examples FILE')
    }
    await using client = await connectWith(flags)
    const predict: typeof client.predictLinear = (...asked) => client.predictLinear(...asked)
    const text = file === undefined ? bytesOf(`0 ${args.join(' ')}\n`) : readPieces(file)
    const options = { state: flags.string('state'), query: linearQueryOf(flags) }
    for await (const { features, prediction } of predictExamples(predict, text, options)) {
      const { label, decision, unknown } = prediction
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ ...prediction, features })
          : `${String(label).padStart(3)}  ${decision.toFixed(6)}${unknown === 0 ? '' : `  (${unknown} of ${features} unknown)`}`,
      )
    }
    return 0
  },
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}
