import { predictExamples } from '../../training/evaluate/classifier.ts'
import { servedHashing } from '../../wire/linear-prediction.ts'
import { type Command, Flags } from '../command/command.ts'
import { examplePieces } from '../files/examples-file.ts'
import { feature } from '../flag-kinds/named.ts'
import { input } from '../flag-kinds/places.ts'
import { LINEAR_QUERY_OPTIONS, labelsOfVersions, linearQueryOf } from '../flags/linear-query.ts'
import { connectWith } from '../flags/query.ts'

/** `weir classify`: predicts labels with the served linear model. */
export const classifyCommand: Command = {
  name: 'classify',
  summary: 'Predict the labels of examples with the served linear model',
  positions: [{ value: feature, isRepeated: true, orFlags: ['examples'] }],
  options: {
    examples: {
      type: 'string',
      value: input(),
      help: 'Predict every line of this LIBSVM text: a file or a folder of files, a path or an hdfs:// URL',
    },
    ...LINEAR_QUERY_OPTIONS,
  },
  details: `Each output line has the label, the decision value, and the number of features without a weight. Labels are
those that the version was trained on. Of a model of several classes it is the one with the largest decision value; --json
has those of all.

Examples:
  weir classify 3:1 11:1 14:1
  weir classify '|user age:0.3 DE |ad sports'
  weir classify --examples a9a.t --json`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const file = flags.optional('examples')
    await using client = await connectWith(flags)
    const state = flags.string('state')
    const hashing = servedHashing(client.routing, state)
    const predict: typeof client.predictLinear = (...asked) => client.predictLinear(...asked)
    const text = file === undefined ? bytesOf(`0 ${args.join(' ')}\n`) : examplePieces(file)
    const options = { state, query: linearQueryOf(flags), hashing }
    const labelsOf = await labelsOfVersions(flags, io)
    const threshold = flags.number('threshold')
    for await (const { features, prediction } of predictExamples(predict, text, options)) {
      const { decision, unknown, modelVersion, scores } = prediction
      const { positive, negative } = labelsOf(modelVersion)
      const side = decision > threshold ? positive : negative
      const label = scores === undefined ? side : prediction.label
      io.out(
        flags.boolean('json')
          ? JSON.stringify({ ...prediction, label, features })
          : `${String(label).padStart(3)}  ${decision.toFixed(6)}${unknown === 0 ? '' : `  (${unknown} of ${features} unknown)`}`,
      )
    }
    return 0
  },
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}
