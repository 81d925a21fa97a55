import { writeFile } from 'node:fs/promises'
import { systemClock } from '../../core/clock.ts'
import { type FeatureHashing, hashingParameters } from '../../core/features/hashing.ts'
import { exampleMetrics } from '../../kinds/linear/example-metrics.ts'
import { publishableWeights } from '../../kinds/linear/publish.ts'
import { textBlocks, textWeights } from '../../models/linear/weights.ts'
import type { TrainedOn } from '../../models/registry/ranges/trained-on.ts'
import type { SparseTable } from '../../training/data/sparse-table.ts'
import { crossValidateLinear, evaluateLinear } from '../../training/linear/evaluate.ts'
import { linearLearningCurve } from '../../training/linear/learning-curve.ts'
import type { LinearLossName } from '../../training/linear/loss.ts'
import type { LinearModel } from '../../training/linear/model.ts'
import { defaultTolerance, type LinearOptions } from '../../training/linear/options.ts'
import { linearPrior } from '../../training/linear/prior.ts'
import { trainLinear } from '../../training/linear/train.ts'
import {
  type Command,
  type CommandIo,
  Flags,
  interruptionSignal,
  type OptionSpec,
  UsageError,
  withNeed,
} from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { BAD_LINES_OPTION, BadLinesOfFiles } from '../files/bad-lines.ts'
import { examplesOfFile } from '../files/examples-file.ts'
import { HASHING_OPTIONS, hashingOfFlags } from '../files/feature-hashing.ts'
import { outputFileOf } from '../files/output-file.ts'
import { writeTextLines } from '../files/text-lines-file.ts'
import { word } from '../flag-kinds/words.ts'
import { topicsOf } from '../flags/kafka.ts'
import { LINEAR_OPTIONS, linearOptionsOf, trainedParameters } from '../flags/linear-training.ts'
import {
  checkPublishing,
  PUBLISH_LINEAR_OPTIONS,
  publishLinearModel,
} from '../flags/publish-linear.ts'
import { promotionHint } from '../flags/published-version.ts'
import { isOnSpark } from '../spark/options.ts'
import { SPARK_LINEAR_OPTIONS, trainLinearOnSpark } from '../spark/train-linear.ts'
import { counted } from '../text/counted.ts'
import { DatasetFacts, IN_TOPIC_OPTION } from '../training/dataset-facts.ts'
import { MULTICLASS_OPTION, trainClasses } from '../training/multiclass.ts'

const SVM_LOSSES = ['hinge', 'squared-hinge'] as const

const LOSS_OPTION: Readonly<Record<string, OptionSpec>> = {
  loss: {
    type: 'string',
    value: word(SVM_LOSSES, 'KIND'),
    default: 'hinge',
    help: 'Loss function: hinge or squared-hinge',
  },
}

/** Flags about the version that --publish makes. */
const PUBLISHED_OPTIONS = Object.fromEntries(
  Object.entries(PUBLISH_LINEAR_OPTIONS).filter(([name]) =>
    ['topic', 'version', 'overwrite', 'partitions'].includes(name),
  ),
)
const PUBLISH_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  publish: { type: 'boolean', help: 'Publish the weights as a version of --topic' },
  ...PUBLISH_LINEAR_OPTIONS,
  ...withNeed({ ...IN_TOPIC_OPTION, ...PUBLISHED_OPTIONS }, 'publish'),
}

/** `weir train svm`: trains a linear support vector machine. */
export const trainSvmCommand: Command = {
  name: 'train svm',
  summary: 'Train a linear SVM on a LIBSVM file',
  options: {
    ...LOSS_OPTION,
    ...LINEAR_OPTIONS,
    ...MULTICLASS_OPTION,
    ...HASHING_OPTIONS,
    ...BAD_LINES_OPTION,
    ...SPARK_LINEAR_OPTIONS,
    ...PUBLISH_OPTIONS,
  },
  details: `Training stops when the duality gap proves that the objective is within --tolerance of the optimum. If
it ends after --rounds without that, the exit status is 1 and nothing is published. The lines of a file have no
time, so --half-life is a flag of retrain only, which reads the records of a topic.

Example:
  weir train svm --examples a9a --cost 1 --folds 5
  weir train svm --examples a9a --publish
  weir train svm --examples a9a --l1 20 --publish
  weir train svm --examples a9a --publish --engine spark --master local[4]
  weir train svm --examples clicks.vw --hash-bits 18 --crosses user*ad --publish`,
  run: ({ flags: values, io }) => {
    const flags = new Flags(values)
    return train(flags, flags.choice('loss', SVM_LOSSES), io)
  },
}

/** `weir train logistic`: trains logistic regression. */
export const trainLogisticCommand: Command = {
  name: 'train logistic',
  summary: 'Train logistic regression on a LIBSVM file',
  options: {
    ...LINEAR_OPTIONS,
    ...MULTICLASS_OPTION,
    ...HASHING_OPTIONS,
    ...BAD_LINES_OPTION,
    ...SPARK_LINEAR_OPTIONS,
    ...PUBLISH_OPTIONS,
  },
  details: `Training stops when the duality gap proves that the objective is within --tolerance of the optimum. If
it ends after --rounds without that, the exit status is 1 and nothing is published. --solver newton is as
fast whatever the scales of the features; with --scale the penalty is of the weights of scaled features. The lines
of a file have no time, so --half-life is a flag of retrain only, which reads the records of a topic.

Examples:
  weir train logistic --examples a9a --cost 1 --folds 5
  weir train logistic --examples amounts.svm --cost 10 --scale max --publish
  weir train logistic --examples clicks.vw --hash-bits 18 --crosses user*ad --publish`,
  run: ({ flags: values, io }) => train(new Flags(values), 'logistic', io),
}

/** Files that a training writes; undefined for none. */
interface OutputFiles {
  readonly weights: string | undefined
  readonly curve: string | undefined
  /** Weights of a line of `weights`, if they are written in buckets. */
  readonly range: number | undefined
}

/** A training that has ended. */
interface Trained {
  readonly table: SparseTable
  readonly options: LinearOptions
  readonly model: LinearModel
  readonly hashing: FeatureHashing | undefined
}

async function train(flags: Flags, loss: LinearLossName, io: CommandIo): Promise<number> {
  if (isOnSpark(flags)) return await trainLinearOnSpark(flags, loss, io)
  const folds = flags.optionalNumber('folds')
  const files = outputFilesOf(flags)
  const hashing = hashingOfFlags(flags)
  if (flags.boolean('publish')) await checkPublishing(flags, hashing)
  const facts = await factsOf(flags, hashing)
  const badLines = new BadLinesOfFiles(flags, io)
  const table = await examplesOfFile(flags.string('examples'), {
    ...{ facts, badLines, hashing },
    onMissing: refuseMissing,
  })
  const options: LinearOptions = { ...linearOptionsOf(flags, table), loss }
  if (flags.boolean('multiclass')) {
    return await trainClasses(flags, { table, options, hashing, facts, badLines }, io)
  }
  const model = await trainWithProgress(table, options, io)
  const trained = { table, options, model, hashing }
  const result = summaryOf(trained)
  const test = flags.optional('test')
  if (test !== undefined) {
    result['test'] = evaluateLinear(model, await examplesOfFile(test, { badLines, hashing }))
  }
  if (folds !== undefined)
    result['crossValidation'] = await crossValidateLinear(table, folds, options)
  await writeWeights(model, files)
  const isGood = model.converged || flags.boolean('allow-unconverged')
  if (flags.boolean('publish') && isGood) {
    const trainedOn = facts.trainedOn(flags.string('examples'), io)
    Object.assign(result, await publishTrained({ ...trained, trainedOn }, flags, io))
  }
  if (files.curve !== undefined) await writeFile(files.curve, linearLearningCurve(model.history))
  await report(result, flags, io)
  if (!model.converged) io.err(unconvergedText(model, flags, options))
  return isGood ? 0 : 1
}

/** Crosses of a namespace that no example has are a mistake: the model would be one without them. Throws UsageError. */
function refuseMissing(namespaces: readonly string[]): void {
  throw new UsageError(
    `--crosses names ${namespaces.join(', ')}, but no example has such a namespace; write "label |${namespaces[0]} name ..."`,
  )
}

/** Facts of the training's data, with the end of the topic of `--in-topic`. */
async function factsOf(flags: Flags, hashing: FeatureHashing | undefined): Promise<DatasetFacts> {
  const facts = new DatasetFacts()
  if (flags.optional('in-topic') === undefined) return facts
  await using topics = await topicsOf(flags)
  await facts.readTopic(flags, topics, { kind: 'examples', hashing })
  return facts
}

function outputFilesOf(flags: Flags): OutputFiles {
  const weights = outputFileOf(flags, 'weights')
  const range = flags.boolean('buckets') ? flags.number('range') : undefined
  return { weights, range, curve: outputFileOf(flags, 'curve') }
}

/** The result of a training, before anything is evaluated or published. */
function summaryOf({ table, options, model }: Trained): Record<string, unknown> {
  const end = model.history.at(-1)
  return {
    examples: options.rows?.length ?? table.rows,
    features: table.features,
    nonZeros: table.indexes.length,
    objective: Math.min(...model.history.map(({ primal }) => primal)),
    relativeGap: end?.relativeGap,
    ...(end?.relativeGradient === undefined ? {} : { relativeGradient: end.relativeGradient }),
    converged: model.converged,
    ...(options.l1 === undefined ? {} : { nonZeroWeights: nonZerosOf(model) }),
    rounds: end?.round,
    passes: end?.passes,
    seconds: end?.seconds,
    ...bestValidation(model),
  }
}

function nonZerosOf({ weights }: LinearModel): number {
  return weights.reduce((count, weight) => count + (weight === 0 ? 0 : 1), 0)
}

async function writeWeights(
  { weights, intercept }: LinearModel,
  files: OutputFiles,
): Promise<void> {
  if (files.weights === undefined) return
  const lines =
    files.range === undefined
      ? textWeights(weights, intercept)
      : textBlocks(weights, intercept, files.range)
  await writeTextLines(files.weights, lines)
}

async function publishTrained(
  { table, options, model, hashing, trainedOn }: Trained & { readonly trainedOn: TrainedOn },
  flags: Flags,
  io: CommandIo,
): Promise<object> {
  const prior = linearPrior(table, model, options.rows)
  const weights = publishableWeights(model.weights, model.intercept, prior)
  return await publishLinearModel(weights, flags, {
    hyperparameters: { ...hyperparametersOf(model, options), ...hashingParameters(hashing) },
    metrics: exampleMetrics(table, model, {
      tolerance: options.tolerance ?? defaultTolerance(),
      rows: options.rows?.length ?? table.rows,
    }),
    trainedOn,
    onWarning: (warning) => io.err(`warning: ${warning}`),
  })
}

/** Prints the result, and how to promote a version that was published. */
async function report(result: Record<string, unknown>, flags: Flags, io: CommandIo): Promise<void> {
  const hint =
    result['topic'] === undefined
      ? ''
      : await promotionHint(flags, flags.string('topic'), Number(result['version']))
  io.out(flags.boolean('json') ? JSON.stringify(result) : sentence(result) + hint)
}

/** What to do about weights that may be far from the best. */
function unconvergedText(model: LinearModel, flags: Flags, options: LinearOptions): string {
  const end = model.history.at(-1)
  const scaling = options.scale === 'none' ? 'give --scale max, or ' : ''
  const canUseNewton = options.solver === 'dual' && (options.l1 ?? 0) === 0
  const remedy =
    options.loss === 'hinge'
      ? `${scaling}lower --cost, or give more --rounds`
      : `${scaling}give more --rounds${canUseNewton ? ' or --solver newton' : ''}`
  const publishing =
    flags.boolean('publish') && !flags.boolean('allow-unconverged')
      ? ' Nothing was published; --allow-unconverged publishes such weights.'
      : ''
  return `training ended after ${end?.round} rounds without its tolerance: the gap is ${end?.relativeGap.toPrecision(2)}, --tolerance is ${options.tolerance}. The weights may be far from the best: ${remedy}.${publishing}`
}

/** Hyperparameters of the published version; clients read the labels of their predictions from it. */
function hyperparametersOf(
  model: LinearModel,
  options: LinearOptions,
): Record<string, number | string> {
  const { positive, negative } = model.labels
  return { ...trainedParameters(options), positiveLabel: positive, negativeLabel: negative }
}

function bestValidation(model: LinearModel): Record<string, number> {
  const accuracies = model.history.flatMap(({ validationAccuracy }) => validationAccuracy ?? [])
  return accuracies.length === 0 ? {} : { validationAccuracy: Math.max(...accuracies) }
}

/** Trains and shows the gap after every round; Ctrl-C stops it there. */
async function trainWithProgress(
  table: SparseTable,
  options: LinearOptions,
  io: CommandIo,
): Promise<LinearModel> {
  const bar = new ProgressBar(io, 'training', () => systemClock.monotonicMs())
  const goal = -Math.log10(options.tolerance ?? defaultTolerance())
  const model = await trainLinear(table, {
    ...options,
    signal: interruptionSignal(io),
    onProgress: ({ round, primal, relativeGap }) => {
      // The logarithm of the gap falls at a nearly constant rate. Rounding may take the gap below 0.
      const done = relativeGap <= 0 ? goal : Math.max(0, -Math.log10(relativeGap))
      bar.update(
        done,
        goal,
        `round ${round}: objective ${objectiveText(primal)}, gap ${relativeGap.toPrecision(2)}`,
      )
    },
  })
  bar.finish()
  return model
}

/** A relative gap in percent, with two digits however small it is. Rounding may take it below 0. */
function gapText(gap: number): string {
  return `${gap <= 0 ? 0 : Number((100 * gap).toPrecision(2))} %`
}

/** An objective with one decimal, or with four digits where it is small: 3.1e-4 is not 0. */
function objectiveText(objective: number): string {
  return objective < 10 ? objective.toPrecision(4) : objective.toFixed(1)
}

function sentence(result: Record<string, unknown>): string {
  const percent = (value: number): string => `${(100 * value).toFixed(2)} %`
  const parts = [
    `${counted(Number(result['examples']), 'example')}, ${counted(Number(result['features']), 'feature')} in ${Number(result['seconds']).toFixed(2)} s`,
    `objective ${objectiveText(Number(result['objective']))}, within ${gapText(Number(result['relativeGap']))} of the optimum`,
  ]
  if (result['nonZeroWeights'] !== undefined) {
    const of = counted(Number(result['features']), 'weight')
    parts.push(`${result['nonZeroWeights']} of ${of} are not 0`)
  }
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
    parts.push(`published as version ${result['version']} to topic ${result['topic']}`)
  }
  return parts.join('\n')
}
