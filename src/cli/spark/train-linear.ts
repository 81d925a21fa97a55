import { placeInFolder } from '../../connectors/file/list.ts'
import { systemClock } from '../../core/clock.ts'
import { publishableWeights } from '../../kinds/linear/publish.ts'
import { textWeights } from '../../models/linear/weights.ts'
import { sparkWeights } from '../../models/spark/linear-weights.ts'
import { openSparkModel } from '../../models/spark/model-folder.ts'
import { sparkFacts } from '../../models/spark/training-facts.ts'
import { evaluateLinear } from '../../training/linear/evaluate.ts'
import type { LinearLossName } from '../../training/linear/loss.ts'
import { LinearModel } from '../../training/linear/model.ts'
import { runSpark, type SparkLinearTask } from '../../training/spark/run.ts'
import { type CommandIo, type Flags, UsageError } from '../command/command.ts'
import { examplesOfFile } from '../files/examples-file.ts'
import { outputFileOf } from '../files/output-file.ts'
import { writeTextLines } from '../files/text-lines-file.ts'
import { checkPublishing, publishLinearModel } from '../flags/publish-linear.ts'
import { promotionHint } from '../flags/published-version.ts'
import { counted } from '../text/counted.ts'
import { sparkOptions, sparkRunOf } from './options.ts'
import { sparkFolderOf, sparkUrlOf, sparkUserOf } from './places.ts'

/** The flags of `weir train svm` and `weir train logistic` by which Spark trains. */
export const SPARK_LINEAR_OPTIONS = sparkOptions([
  ...['folds', 'solver', 'threads', 'blocks', 'local-iterations', 'step-size', 'tolerance', 'seed'],
  ...['validation', 'patience', 'buckets', 'curve', 'multiclass', 'hash-bits', 'crosses'],
  ...['bad-lines', 'in-topic'],
])

/** Ids of features of LIBSVM text begin at 1, and the indexes of Spark at 0. */
const FIRST_FEATURE = 1
const FACTS = ['examples', 'features', 'iterations', 'objective', 'cost'] as const

/**
 * Trains weights on Spark, and publishes them with `--publish`; returns the exit status, 1 where the iterations ended before
 * MLlib's tolerance. Throws UsageError for flags that MLlib has no counterpart of, and as `runSpark`.
 */
export async function trainLinearOnSpark(
  flags: Flags,
  loss: LinearLossName,
  io: CommandIo,
  id: string = crypto.randomUUID(),
): Promise<number> {
  const startMs = systemClock.monotonicMs()
  const examples = flags.string('examples')
  const settings = settingsOf(flags, loss)
  const weightsFile = outputFileOf(flags, 'weights')
  const run = sparkRunOf(flags, io)
  await using folder = sparkFolderOf(flags, id)
  const env = { ...run.env, ...sparkUserOf([examples, folder.place]) }
  if (flags.boolean('publish')) await checkPublishing(flags, undefined)
  await runSpark(
    { kind: 'linear', examples: sparkUrlOf(examples), ...settings, out: folder.url },
    { ...run, env },
  )
  const facts = await sparkFacts(folder.place, [...FACTS, 'positiveLabel', 'negativeLabel'])
  const { positiveLabel, negativeLabel, cost, objective, iterations } = facts
  const opened = await openSparkModel(placeInFolder(folder.place, 'model'))
  const { weights, intercept } = await sparkWeights(opened, FIRST_FEATURE)
  const converged = iterations! < settings.iterations
  const result: Record<string, unknown> = {
    ...{ examples: facts['examples'], features: weights.length, iterations, objective, converged },
    ...{ seconds: (systemClock.monotonicMs() - startMs) / 1000, engine: 'spark' },
  }
  const labels = { positive: positiveLabel!, negative: negativeLabel! }
  const model = new LinearModel({ loss, labels, weights, intercept, history: [], converged })
  const test = flags.optional('test')
  if (test !== undefined) result['test'] = evaluateLinear(model, await examplesOfFile(test))
  if (weightsFile !== undefined) await writeTextLines(weightsFile, textWeights(weights, intercept))
  const isGood = converged || flags.boolean('allow-unconverged')
  if (flags.boolean('publish') && isGood) {
    const { l1, positiveWeight, standardization } = settings
    const published = await publishLinearModel(publishableWeights(weights, intercept), flags, {
      hyperparameters: {
        ...{ loss, cost: cost!, bias: intercept === 0 ? 0 : 1, engine: 'spark' },
        ...(l1 === 0 ? {} : { l1 }),
        ...(positiveWeight === 1 ? {} : { positiveWeight }),
        ...{ scale: standardization ? 'deviation' : 'none', positiveLabel: labels.positive },
        negativeLabel: labels.negative,
      },
      metrics: { observations: facts['examples']!, unparsable: 0, objective: objective! },
      onWarning: (warning) => io.err(`warning: ${warning}`),
    })
    Object.assign(result, published)
  }
  io.out(flags.boolean('json') ? JSON.stringify(result) : await sentence(flags, result))
  if (!converged) io.err(unconverged(settings.iterations, isGood))
  return isGood ? 0 : 1
}

/** The settings of the flags. Throws UsageError for those that MLlib does not have. */
function settingsOf(
  flags: Flags,
  loss: LinearLossName,
): Omit<SparkLinearTask, 'kind' | 'examples'> {
  if (loss === 'squared-hinge') throw new UsageError("Spark's LinearSVC has the loss hinge only")
  const l1 = flags.optionalNumber('l1') ?? 0
  if (l1 > 0 && loss === 'hinge') {
    throw new UsageError("Spark's LinearSVC has no --l1: leave it out, or use weir train logistic")
  }
  const weight = flags.optional('positive-weight') ?? '1'
  if (weight === 'balanced') {
    throw new UsageError('--engine spark takes a number for --positive-weight, not balanced')
  }
  const bias = flags.number('bias')
  if (bias !== 0 && bias !== 1) throw new UsageError('--engine spark takes --bias 1, or 0 for none')
  const scale = flags.string('scale')
  if (scale === 'max') throw new UsageError('--engine spark takes --scale none or deviation')
  const ridge = flags.optionalNumber('regularization')
  return {
    ...{ loss, l1, cost: flags.optionalNumber('cost') ?? 1, positiveWeight: Number(weight) },
    ...(ridge === undefined ? {} : { ridge }),
    ...{ intercept: bias === 1, standardization: scale === 'deviation' },
    iterations: flags.number('rounds'),
  }
}

async function sentence(flags: Flags, result: Readonly<Record<string, unknown>>): Promise<string> {
  const { examples, features, seconds, iterations, objective, topic, version, test } = result
  const lines = [
    `${counted(Number(examples), 'example')}, ${counted(Number(features), 'feature')} in ${Number(seconds).toFixed(2)} s on Spark`,
    `objective ${Number(objective).toPrecision(4)} (with the mean loss) after ${counted(Number(iterations), 'iteration')}`,
  ]
  const measured = test as ReturnType<typeof evaluateLinear> | undefined
  if (measured !== undefined) {
    const { accuracy, auc } = measured
    const more = auc === undefined ? '' : `, AUC ${auc.mean.toFixed(4)}`
    lines.push(`test accuracy ${(100 * accuracy.mean).toFixed(2)} %${more}`)
  }
  if (topic === undefined) return lines.join('\n')
  lines.push(`published as version ${version} to topic ${topic}`)
  return lines.join('\n') + (await promotionHint(flags, String(topic), Number(version)))
}

function unconverged(iterations: number, isGood: boolean): string {
  const remedy = isGood ? '' : ', or give --allow-unconverged to publish such weights'
  return `training ended after ${iterations} iterations without MLlib's tolerance: give more --rounds${remedy}`
}
