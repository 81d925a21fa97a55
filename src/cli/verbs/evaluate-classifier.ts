import {
  predictExamples,
  ServedClassesQuality,
  type ServedClassesSummary,
  ServedClassifierQuality,
  type ServedClassifierSummary,
} from '../../training/evaluate/classifier.ts'
import { servedHashing } from '../../wire/linear-prediction.ts'
import { type Command, Flags } from '../command/command.ts'
import { examplePieces } from '../files/examples-file.ts'
import { input } from '../flag-kinds/places.ts'
import { LINEAR_QUERY_OPTIONS, labelsOfVersions, linearQueryOf } from '../flags/linear-query.ts'
import { connectWith } from '../flags/query.ts'

/** `weir evaluate svm`: measures the served linear model on labelled examples. */
export const evaluateSvmCommand: Command = {
  name: 'evaluate svm',
  summary: 'Measure the quality of the served linear model on labelled examples',
  options: {
    examples: {
      type: 'string',
      isRequired: true,
      value: input(),
      help: 'LIBSVM text: a file or a folder of files, a path or an hdfs:// URL',
    },
    'log-loss': {
      type: 'boolean',
      help: 'Report the log loss; for logistic regression, whose decision values are log-odds',
    },
    ...LINEAR_QUERY_OPTIONS,
  },
  details: `Every example counts. Features that the model does not know add nothing to its decision value; the output
says how many they are.

Example:
  weir evaluate svm --examples a9a.t`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const query = linearQueryOf(flags)
    const file = flags.string('examples')
    await using client = await connectWith(flags)
    const state = flags.string('state')
    const hashing = servedHashing(client.routing, state)
    const labelsOf = await labelsOfVersions(flags, io)
    const isLogOdds = flags.boolean('log-loss')
    const quality = new ServedClassifierQuality(isLogOdds, query)
    let classes: ServedClassesQuality | undefined
    const predicted = predictExamples(
      (...asked) => client.predictLinear(...asked),
      examplePieces(file),
      { state, query, hashing },
    )
    for await (const example of predicted) {
      const { scores, modelVersion } = example.prediction
      if (example.number === 1 && scores !== undefined) {
        classes = new ServedClassesQuality(
          scores.map(({ label }) => label),
          isLogOdds,
        )
      }
      if (classes === undefined) quality.add(example, labelsOf(modelVersion).positive)
      else classes.add(example)
    }
    const summary = (classes ?? quality).summary()
    if (flags.boolean('json')) io.out(JSON.stringify(summary))
    else for (const line of linesOf(summary)) io.out(line)
    return 0
  },
}

function linesOf(summary: ServedClassifierSummary | ServedClassesSummary): string[] {
  const { accuracy, logLoss } = summary
  const auc = 'auc' in summary ? summary.auc : undefined
  const interval = ({ low, high }: { low: number; high: number }, digits: number, unit = 1) =>
    `(95 %: ${(unit * low).toFixed(digits)} to ${(unit * high).toFixed(digits)})`
  const { features, unknownFeatures, unknownExamples } = summary
  return [
    'classes' in summary
      ? `examples  ${summary.count} of ${summary.classes} classes`
      : `examples  ${summary.count}, ${summary.positives} positive`,
    `accuracy  ${(100 * accuracy.mean).toFixed(2)} %  ${interval(accuracy, 2, 100)}`,
    ...('macroF1' in summary ? [`macro F1  ${summary.macroF1.toFixed(4)}`] : []),
    ...(auc === undefined ? [] : [`AUC       ${auc.mean.toFixed(4)}  ${interval(auc, 4)}`]),
    ...(logLoss === undefined
      ? []
      : [`log loss  ${logLoss.mean.toFixed(4)}  ${interval(logLoss, 4)}`]),
    `coverage  ${features - unknownFeatures} of ${features} features known, ${unknownExamples} examples without a known feature`,
  ]
}
