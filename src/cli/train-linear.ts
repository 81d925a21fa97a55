import { writeFile } from 'node:fs/promises'
import { systemClock } from '../core/clock.ts'
import { publishableWeights } from '../jobs/publish-linear.ts'
import { textWeights } from '../models/linear-weights.ts'
import { crossValidateLinear, evaluateLinear } from '../training/evaluate-linear.ts'
import { linearLearningCurve } from '../training/linear-learning-curve.ts'
import type { LinearLossName } from '../training/linear-loss.ts'
import type { LinearModel } from '../training/linear-model.ts'
import type { LinearOptions } from '../training/linear-options.ts'
import type { SparseTable } from '../training/sparse-table.ts'
import { trainLinear } from '../training/train-linear.ts'
import {
  type Command,
  type CommandIo,
  Flags,
  InterruptedError,
  type OptionSpec,
} from './command.ts'
import { examplesOfFile } from './examples-file.ts'
import { LINEAR_OPTIONS, linearOptionsOf } from './linear-training-flags.ts'
import { ProgressBar } from './progress-bar.ts'
import { PUBLISH_LINEAR_OPTIONS, publishLinearModel } from './publish-linear-model.ts'
import { writeTextLines } from './text-lines-file.ts'

const LOSS_OPTION: Readonly<Record<string, OptionSpec>> = {
  loss: { type: 'string', value: 'KIND', default: 'hinge', help: 'hinge or squared-hinge' },
}

const PUBLISH_OPTION: Readonly<Record<string, OptionSpec>> = {
  publish: { type: 'boolean', help: 'Publish the weights as a version of the model topic' },
}

/** `weir train svm`: a linear support vector machine. */
export const trainSvmCommand: Command = {
  name: 'train svm',
  summary: 'Train a linear SVM on a LIBSVM file',
  usage: '--examples FILE',
  options: { ...LOSS_OPTION, ...LINEAR_OPTIONS, ...PUBLISH_OPTION, ...PUBLISH_LINEAR_OPTIONS },
  details: `Training ends when the duality gap proves the objective to be within --tolerance of the best.

Example:
  weir train svm --examples a9a --cost 1 --folds 5
  weir train svm --examples a9a --publish`,
  run: ({ flags: values, io }) => {
    const flags = new Flags(values)
    return train(flags, flags.choice('loss', ['hinge', 'squared-hinge']), io)
  },
}

/** `weir train logistic`: logistic regression. */
export const trainLogisticCommand: Command = {
  name: 'train logistic',
  summary: 'Train logistic regression on a LIBSVM file',
  usage: '--examples FILE',
  options: { ...LINEAR_OPTIONS, ...PUBLISH_OPTION, ...PUBLISH_LINEAR_OPTIONS },
  details: `Training ends when the duality gap proves the objective to be within --tolerance of the best.

Example:
  weir train logistic --examples a9a --cost 1 --folds 5`,
  run: ({ flags: values, io }) => train(new Flags(values), 'logistic', io),
}

async function train(flags: Flags, loss: LinearLossName, io: CommandIo): Promise<number> {
  const table = await examplesOfFile(flags.string('examples'))
  const options: LinearOptions = { ...linearOptionsOf(flags, table), loss }
  const model = await trainWithProgress(table, options, io)
  const end = model.history.at(-1)
  const result: Record<string, unknown> = {
    examples: options.rows?.length ?? table.rows,
    features: table.features,
    nonZeros: table.indexes.length,
    objective: Math.min(...model.history.map(({ primal }) => primal)),
    relativeGap: end?.relativeGap,
    rounds: end?.round,
    passes: end?.passes,
    seconds: end?.seconds,
    ...bestValidation(model),
  }
  const test = flags.optional('test')
  if (test !== undefined) result['test'] = evaluateLinear(model, await examplesOfFile(test))
  const folds = flags.optionalInteger('folds', 2)
  if (folds !== undefined)
    result['crossValidation'] = await crossValidateLinear(table, folds, options)
  const weights = flags.optional('weights')
  if (weights !== undefined) {
    await writeTextLines(weights, textWeights(model.weights, model.intercept))
  }
  if (flags.boolean('publish')) {
    const published = await publishLinearModel(
      publishableWeights(model.weights, model.intercept),
      flags,
      { hyperparameters: facts(model, options) },
    )
    Object.assign(result, published)
  }
  const curve = flags.optional('curve')
  if (curve !== undefined) await writeFile(curve, linearLearningCurve(model.history))
  io.out(flags.boolean('json') ? JSON.stringify(result) : sentence(result))
  return 0
}

/** What the version says of itself; a client needs the labels to name what it predicts. */
function facts(model: LinearModel, options: LinearOptions): Record<string, number | string> {
  const { positive, negative } = model.labels
  const { loss, cost = 1 } = options
  return { loss: loss ?? 'hinge', cost, positiveLabel: positive, negativeLabel: negative }
}

function bestValidation(model: LinearModel): Record<string, number> {
  const accuracies = model.history.flatMap(({ validationAccuracy }) => validationAccuracy ?? [])
  return accuracies.length === 0 ? {} : { validationAccuracy: Math.max(...accuracies) }
}

/** Trains and shows the gap after every round; Ctrl-C stops between two. */
async function trainWithProgress(
  table: SparseTable,
  options: LinearOptions,
  io: CommandIo,
): Promise<LinearModel> {
  const bar = new ProgressBar(io, 'training', () => systemClock.monotonicMs())
  const abort = new AbortController()
  void io.interrupted.then(() => abort.abort(new InterruptedError('interrupted')))
  const goal = -Math.log10(options.tolerance ?? 1e-3)
  const model = await trainLinear(table, {
    ...options,
    signal: abort.signal,
    onProgress: ({ round, primal, relativeGap }) => {
      // The gap shrinks about as fast on a logarithmic scale.
      const done = Math.max(0, -Math.log10(relativeGap))
      bar.update(
        done,
        goal,
        `round ${round}: objective ${primal.toFixed(1)}, gap ${relativeGap.toPrecision(2)}`,
      )
    },
  })
  bar.finish()
  return model
}

function sentence(result: Record<string, unknown>): string {
  const percent = (value: number): string => `${(100 * value).toFixed(2)} %`
  const parts = [
    `${result['examples']} examples, ${result['features']} features in ${Number(result['seconds']).toFixed(2)} s`,
    `objective ${Number(result['objective']).toFixed(1)}, within ${percent(Number(result['relativeGap']))} of the best`,
  ]
  if (result['validationAccuracy'] !== undefined) {
    parts.push(`validation accuracy ${percent(Number(result['validationAccuracy']))}`)
  }
  for (const [name, label] of [
    ['test', 'test'],
    ['crossValidation', 'cross-validated'],
  ] as const) {
    const summary = result[name] as ReturnType<typeof evaluateLinear> | undefined
    if (summary === undefined) continue
    const { accuracy, auc, logLoss } = summary
    parts.push(
      `${label} accuracy ${percent(accuracy.mean)} (95 %: ${percent(accuracy.low)} to ${percent(accuracy.high)})` +
        (auc === undefined ? '' : `, AUC ${auc.mean.toFixed(4)}`) +
        (logLoss === undefined ? '' : `, log loss ${logLoss.mean.toFixed(4)}`),
    )
  }
  if (result['topic'] !== undefined) {
    parts.push(`published as version ${result['version']} in topic ${result['topic']}`)
  }
  return parts.join('\n')
}
