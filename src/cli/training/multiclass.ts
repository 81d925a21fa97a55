import { systemClock } from '../../core/clock.ts'
import { classParameters } from '../../core/features/classes.ts'
import { type FeatureHashing, hashingParameters } from '../../core/features/hashing.ts'
import { publishableClasses } from '../../kinds/linear/publish.ts'
import type { SparseTable } from '../../training/data/sparse-table.ts'
import {
  crossValidateMulticlass,
  evaluateMulticlass,
  type MulticlassModel,
  trainMulticlass,
} from '../../training/linear/multiclass.ts'
import { defaultTolerance, type LinearOptions } from '../../training/linear/options.ts'
import type { MulticlassSummary } from '../../training/metrics/multiclass.ts'
import {
  type CommandIo,
  type Flags,
  interruptionSignal,
  type OptionSpec,
} from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import type { BadLinesOfFiles } from '../files/bad-lines.ts'
import { examplesOfFile } from '../files/examples-file.ts'
import { trainedParameters } from '../flags/linear-training.ts'
import { publishLinearModel } from '../flags/publish-linear.ts'
import { promotionHint } from '../flags/published-version.ts'
import { counted } from '../text/counted.ts'
import type { DatasetFacts } from './dataset-facts.ts'

/** The flag of a training on more than two labels. */
export const MULTICLASS_OPTION: Readonly<Record<string, OptionSpec>> = {
  multiclass: {
    type: 'boolean',
    excludes: ['positive-weight', 'validation', 'patience', 'weights', 'buckets', 'curve'],
    help: 'Examples of several labels: a model for each label against the rest, and the label with the largest decision value is predicted',
  },
}

/** What a training of several classes is given. */
export interface ClassTraining {
  readonly table: SparseTable
  readonly options: LinearOptions
  readonly hashing: FeatureHashing | undefined
  readonly facts: DatasetFacts
  readonly badLines: BadLinesOfFiles
}

/** Trains, measures and publishes a model of several classes; returns the exit status. */
export async function trainClasses(
  flags: Flags,
  given: ClassTraining,
  io: CommandIo,
): Promise<number> {
  const { table, options, hashing, badLines } = given
  const startMs = systemClock.monotonicMs()
  const model = await trainWithProgress(given, io)
  const result = summaryOf(given, model, (systemClock.monotonicMs() - startMs) / 1000)
  const test = flags.optional('test')
  if (test !== undefined) {
    result['test'] = evaluateMulticlass(model, await examplesOfFile(test, { badLines, hashing }))
  }
  const folds = flags.optionalNumber('folds')
  if (folds !== undefined) {
    result['crossValidation'] = await crossValidateMulticlass(table, folds, options)
  }
  const isGood = model.converged || flags.boolean('allow-unconverged')
  if (flags.boolean('publish') && isGood)
    Object.assign(result, await publish(flags, given, model, io))
  const hint =
    result['topic'] === undefined
      ? ''
      : await promotionHint(flags, flags.string('topic'), Number(result['version']))
  io.out(flags.boolean('json') ? JSON.stringify(result) : sentence(result) + hint)
  if (!model.converged) io.err(unconvergedText(model, options))
  return isGood ? 0 : 1
}

async function trainWithProgress(
  { table, options }: ClassTraining,
  io: CommandIo,
): Promise<MulticlassModel> {
  const bar = new ProgressBar(io, 'training', () => systemClock.monotonicMs())
  const model = await trainMulticlass(table, {
    ...options,
    signal: interruptionSignal(io),
    onProgress: ({ round, relativeGap }, place, classes) => {
      const text = `class ${place + 1} of ${classes}, round ${round}: gap ${relativeGap.toPrecision(2)}`
      bar.update(place, classes, text)
    },
  })
  bar.finish()
  return model
}

function summaryOf(
  { table }: ClassTraining,
  model: MulticlassModel,
  seconds: number,
): Record<string, unknown> {
  return {
    examples: table.rows,
    features: table.features,
    nonZeros: table.indexes.length,
    classes: model.labels,
    ...figuresOf(model),
    converged: model.converged,
    seconds,
  }
}

/** The sum of the objectives of the classes, and the largest gap. */
function figuresOf({ models }: MulticlassModel): {
  readonly objective: number
  readonly relativeGap: number
} {
  const objectives = models.map(({ history }) => Math.min(...history.map(({ primal }) => primal)))
  const gaps = models.map(({ history }) => history.at(-1)?.relativeGap ?? Number.NaN)
  return {
    objective: objectives.reduce((sum, each) => sum + each, 0),
    relativeGap: Math.max(...gaps),
  }
}

async function publish(
  flags: Flags,
  { table, options, hashing, facts }: ClassTraining,
  model: MulticlassModel,
  io: CommandIo,
): Promise<object> {
  const { tolerance = defaultTolerance() } = options
  return await publishLinearModel(publishableClasses(model), flags, {
    hyperparameters: {
      ...trainedParameters(options),
      ...classParameters(model.classes),
      ...hashingParameters(hashing),
    },
    metrics: { observations: table.rows, unparsable: 0, ...figuresOf(model), tolerance },
    trainedOn: facts.trainedOn(flags.string('examples'), io),
    onWarning: (warning) => io.err(`warning: ${warning}`),
  })
}

function unconvergedText(
  { models, labels }: MulticlassModel,
  { tolerance }: LinearOptions,
): string {
  const far = labels.filter((_, place) => !models[place]!.converged)
  return `training ended after --rounds without its tolerance of ${tolerance} for ${far.length === 1 ? 'label' : 'labels'} ${far.join(', ')}. The weights may be far from the best: lower --cost, give --scale max, or give more --rounds; --allow-unconverged publishes such weights`
}

const percent = (value: number): string => `${(100 * value).toFixed(2)} %`

function sentence(result: Record<string, unknown>): string {
  const { examples, features, classes, seconds } = result
  const labels = classes as readonly number[]
  const parts = [
    `${counted(Number(examples), 'example')}, ${counted(Number(features), 'feature')}, ${counted(labels.length, 'label')} in ${Number(seconds).toFixed(2)} s`,
  ]
  for (const [name, label] of [
    ['test', 'test'],
    ['crossValidation', 'cross-validated'],
  ] as const) {
    const summary = result[name] as MulticlassSummary | undefined
    if (summary !== undefined) parts.push(`${label} ${qualityText(summary)}`)
  }
  if (result['topic'] !== undefined) {
    parts.push(`published as version ${result['version']} to topic ${result['topic']}`)
  }
  return parts.join('\n')
}

function qualityText({ accuracy, macroF1, logLoss }: MulticlassSummary): string {
  const { mean, low, high } = accuracy
  return (
    `accuracy ${percent(mean)} (95 %: ${percent(low)} to ${percent(high)}), macro F1 ${macroF1.toFixed(4)}` +
    (logLoss === undefined ? '' : `, log loss ${logLoss.mean.toFixed(4)}`)
  )
}
