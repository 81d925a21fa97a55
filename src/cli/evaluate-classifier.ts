import { readPieces } from '../connectors/file/open-line-folder.ts'
import {
  predictExamples,
  ServedClassifierQuality,
  type ServedClassifierSummary,
} from '../jobs/evaluate-classifier.ts'
import { type Command, Flags } from './command.ts'
import { LINEAR_QUERY_OPTIONS, linearQueryOf } from './linear-query-flags.ts'
import { connectWith } from './query-flags.ts'

/** `weir evaluate svm`: the served linear model's quality on labelled examples. */
export const evaluateSvmCommand: Command = {
  name: 'evaluate svm',
  summary: 'Measure the quality of the served linear model on labelled examples',
  usage: '--examples FILE',
  options: {
    examples: { type: 'string', value: 'FILE', help: 'LIBSVM text, a path or an hdfs:// URL' },
    'log-loss': {
      type: 'boolean',
      help: 'Decision values are log-odds (logistic regression): report the log loss',
    },
    ...LINEAR_QUERY_OPTIONS,
  },
  details: `Every example counts: features that the model does not know add nothing and are counted.

Example:
  weir evaluate svm --examples a9a.t`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const query = linearQueryOf(flags)
    const file = flags.string('examples')
    await using client = await connectWith(flags)
    const quality = new ServedClassifierQuality(flags.boolean('log-loss'), query)
    const predicted = predictExamples(
      (...asked) => client.predictLinear(...asked),
      readPieces(file),
      { state: flags.string('state'), query },
    )
    for await (const example of predicted) quality.add(example)
    const summary = quality.summary()
    if (flags.boolean('json')) io.out(JSON.stringify(summary))
    else for (const line of linesOf(summary)) io.out(line)
    return 0
  },
}

function linesOf(summary: ServedClassifierSummary): string[] {
  const { accuracy, auc, logLoss } = summary
  const interval = ({ low, high }: { low: number; high: number }, digits: number, unit = 1) =>
    `(95 %: ${(unit * low).toFixed(digits)} to ${(unit * high).toFixed(digits)})`
  const { features, unknownFeatures, unknownExamples } = summary
  return [
    `examples  ${summary.count}, ${summary.positives} positive`,
    `accuracy  ${(100 * accuracy.mean).toFixed(2)} %  ${interval(accuracy, 2, 100)}`,
    ...(auc === undefined ? [] : [`AUC       ${auc.mean.toFixed(4)}  ${interval(auc, 4)}`]),
    ...(logLoss === undefined
      ? []
      : [`log loss  ${logLoss.mean.toFixed(4)}  ${interval(logLoss, 4)}`]),
    `coverage  ${features - unknownFeatures} of ${features} features known, ${unknownExamples} examples with none`,
  ]
}
