import { MOST_FEATURES } from '../../core/feature.ts'
import { classesOf } from '../../core/features/classes.ts'
import {
  type FeatureHashing,
  hashingOf,
  hashingParameters,
  hashingText,
  isSameHashing,
} from '../../core/features/hashing.ts'
import { seededRandom } from '../../core/random.ts'
import type { RetrainLinearOptions } from '../../kinds/linear/options.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import type { FeatureScaling } from '../../training/data/feature-scales.ts'
import type { SparseTable } from '../../training/data/sparse-table.ts'
import type { LinearLossName } from '../../training/linear/loss.ts'
import {
  defaultTolerance,
  type LinearOptions,
  type LinearSolverKind,
} from '../../training/linear/options.ts'
import { type Flags, needs, type OptionSpec, UsageError } from '../command/command.ts'
import { HASHING_OPTIONS, hashingOfFlags } from '../files/feature-hashing.ts'
import { anyNumber, share, wholeNumber } from '../flag-kinds/numbers.ts'
import { input, output } from '../flag-kinds/places.ts'
import { orWord, word } from '../flag-kinds/words.ts'

const LOSSES: readonly LinearLossName[] = ['hinge', 'squared-hinge', 'logistic']
const SOLVERS: readonly LinearSolverKind[] = ['auto', 'dual', 'newton']
const SCALINGS: readonly FeatureScaling[] = ['none', 'max', 'deviation']

/** Flags of `train svm` and `train logistic`. */
export const LINEAR_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  examples: {
    type: 'string',
    isRequired: true,
    value: input(),
    help: 'Training examples as LIBSVM text: label feature:value ...',
  },
  test: { type: 'string', value: input(), help: 'Held-out examples to measure the quality on' },
  folds: {
    type: 'string',
    value: wholeNumber({ min: 2 }),
    help: 'Also cross-validate with N folds',
  },
  cost: {
    type: 'string',
    excludes: ['regularization'],
    value: anyNumber({ above: 0 }, 'C'),
    help: 'Weight of the losses against the regularization (default 1)',
  },
  l1: {
    type: 'string',
    value: anyNumber({ min: 0 }, 'LAMBDA'),
    help: 'Penalty of the sum of the absolute weights: those that say little are exactly 0 (default 0)',
  },
  'positive-weight': {
    type: 'string',
    value: orWord(anyNumber({ above: 0 }), 'balanced'),
    help: 'Cost of a positive example in those of a negative one (default 1); balanced: both labels cost the same in sum',
  },
  bias: {
    type: 'string',
    value: anyNumber({}),
    default: '1',
    help: 'Value of the constant feature; 0 for none',
  },
  solver: {
    type: 'string',
    value: word(SOLVERS, 'KIND'),
    default: 'auto',
    help: "dual (coordinate ascent), newton (not for hinge), or auto: Newton's method goes on where the dual is slow",
  },
  scale: {
    type: 'string',
    value: word(SCALINGS, 'KIND'),
    default: 'none',
    help: 'Train on features divided by their largest absolute value (max) or standard deviation (deviation); the weights are those of the features as they are',
  },
  tolerance: {
    type: 'string',
    value: anyNumber({ min: 0 }),
    help: 'Stop at this relative duality gap (default 0.0001; 0.001 with several blocks)',
  },
  rounds: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 1_000_000 }),
    default: '1000',
    help: 'Maximum number of rounds',
  },
  threads: {
    type: 'string',
    value: wholeNumber({ min: 0, max: 256 }),
    default: '1',
    help: 'Number of training threads; each needs a block',
  },
  blocks: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 256 }),
    help: 'Parts to train in parallel (default: 1); more parts need more rounds',
  },
  'local-iterations': {
    type: 'string',
    value: wholeNumber({ min: 1, max: 2 ** 31 - 1 }),
    help: 'Steps of each block in a round (default: twice its examples)',
  },
  'step-size': {
    type: 'string',
    value: anyNumber({ above: 0, max: 1 }),
    default: '1',
    help: 'Share of each step that is taken, above 0; smaller steps need more rounds',
  },
  regularization: {
    type: 'string',
    value: anyNumber({ above: 0 }),
    help: "Instead of --cost: lambda of Flink's SVM, cost = 1 / (lambda x examples)",
  },
  'allow-unconverged': {
    type: 'boolean',
    help: 'Publish, and exit with status 0, if training ends at --rounds without --tolerance',
  },
  seed: {
    type: 'string',
    value: wholeNumber(),
    default: '1',
    help: 'Seed of the order of the examples',
  },
  validation: {
    type: 'string',
    value: share({ min: 0, below: 1 }),
    help: 'Share of the examples to validate on',
  },
  patience: {
    type: 'string',
    needs: [needs('validation')],
    value: wholeNumber({ min: 1 }),
    help: 'Stop after N rounds without a higher validation accuracy',
  },
  weights: {
    type: 'string',
    value: output(),
    help: 'Write the weights as text, "<feature>,<weight>", to a path or an hdfs:// URL',
  },
  buckets: {
    type: 'boolean',
    needs: [needs('weights')],
    help: 'Write them in blocks of --range features, "<block>,<feature>:<weight>;..."',
  },
  curve: { type: 'string', value: output(), help: 'Write the learning curve as SVG' },
}

/** Flags of the retraining of a linear model, whose defaults are the options of the live version. */
export const INHERITED_LINEAR_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  loss: {
    type: 'string',
    value: word(LOSSES, 'KIND'),
    help: 'Linear: hinge, squared-hinge or logistic (default: of the live version, else hinge)',
  },
  cost: {
    type: 'string',
    value: anyNumber({ above: 0 }, 'C'),
    help: 'Linear: weight of the losses (default: of the live version, else 1)',
  },
  l1: {
    type: 'string',
    value: anyNumber({ min: 0 }, 'LAMBDA'),
    help: 'Linear: penalty of the sum of the absolute weights (default: of the live version, else 0)',
  },
  'positive-weight': {
    type: 'string',
    value: anyNumber({ above: 0 }),
    help: 'Linear: cost of a positive example in those of a negative one (default: of the live version, else 1)',
  },
  'max-features': {
    type: 'string',
    value: wholeNumber({ min: 1, max: MOST_FEATURES }),
    help: `Linear: leave out examples with the id of a feature from N on, as learn svm refuses them (default: of the live version, else ${MOST_FEATURES})`,
  },
  bias: {
    type: 'string',
    value: anyNumber({}),
    help: 'Linear: value of the constant feature (default: of the live version, else 1)',
  },
  gap: {
    type: 'string',
    value: anyNumber({ min: 0 }),
    help: 'Linear: relative duality gap to reach (default: of the live version, else 0.0001)',
  },
  scale: {
    type: 'string',
    value: word(SCALINGS, 'KIND'),
    help: 'Linear: scale the features: none, max or deviation (default: of the live version, else none)',
  },
  ...HASHING_OPTIONS,
  rounds: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 1_000_000 }),
    help: 'Linear: maximum number of rounds (default: 1000)',
  },
}

/**
 * The training options of a retraining: those of the flags, else those that the live version was trained
 * with. Throws UsageError.
 */
export function inheritedLinearOptions(
  flags: Flags,
  live: RegisteredVersion | undefined,
): RetrainLinearOptions {
  const known = live?.lineage.hyperparameters ?? {}
  requireTwoLabels(live)
  const hashing = inheritedHashing(flags, live)
  const numberOf = (flag: string, name: string): number | undefined => {
    if (flags.optional(flag) !== undefined) return flags.number(flag)
    return typeof known[name] === 'number' ? known[name] : undefined
  }
  const choiceOf = <T extends string>(name: string, choices: readonly T[]): T | undefined =>
    flags.optional(name) === undefined
      ? choices.find((choice) => choice === known[name])
      : flags.choice(name, choices)
  const numbers = {
    cost: numberOf('cost', 'cost'),
    l1: numberOf('l1', 'l1'),
    positiveWeight: numberOf('positive-weight', 'positiveWeight'),
    maxFeatures: numberOf('max-features', 'maxFeatures'),
    bias: numberOf('bias', 'bias'),
    tolerance: numberOf('gap', 'tolerance'),
    maxRounds: flags.optionalNumber('rounds'),
    seed: numberOf('seed', 'seed'),
  }
  const choices = {
    loss: choiceOf('loss', LOSSES),
    solver: choiceOf('solver', SOLVERS),
    scale: choiceOf('scale', SCALINGS),
  }
  const given = Object.entries({ ...numbers, ...choices }).filter(
    ([, value]) => value !== undefined,
  )
  return {
    ...Object.fromEntries(given),
    ...hashingParameters(hashing),
    threads: flags.number('threads'),
  }
}

/** Throws UsageError for a version of several classes. */
function requireTwoLabels(live: RegisteredVersion | undefined): void {
  if (live === undefined || classesOf(live.lineage.hyperparameters) === undefined) return
  throw new UsageError(
    `version ${live.number} of ${live.name} has several classes, and only models of two labels are retrained; train it again with "weir train svm --examples FILE --multiclass --publish --topic ${live.name}", and promote that version`,
  )
}

/** How the live version hashes names, or the flags where none is live. Throws UsageError if both say it and differ. */
export function inheritedHashing(
  flags: Flags,
  live: RegisteredVersion | undefined,
): FeatureHashing | undefined {
  const given = hashingOfFlags(flags)
  if (live === undefined) return given
  const held = hashingOf(live.lineage.hyperparameters)
  if (given !== undefined && !isSameHashing(given, held)) {
    throw new UsageError(
      `version ${live.number} of ${live.name} has ${hashingText(held)}, not ${hashingText(given)}; leave it out, or train another model`,
    )
  }
  return held
}

/** The training options of the flags. Throws UsageError. */
export function linearOptionsOf(flags: Flags, table: SparseTable): LinearOptions {
  const seed = flags.number('seed')
  const blocks = flags.optionalNumber('blocks')
  const patience = flags.optionalNumber('patience')
  const share = flags.optional('validation') === undefined ? 0 : flags.number('validation')
  if (patience !== undefined && share === 0) {
    throw new UsageError('--patience needs --validation SHARE')
  }
  const l1 = flags.optionalNumber('l1')
  const localSteps = flags.optionalNumber('local-iterations')
  const validation = share === 0 ? undefined : validationOf(table, share, seed)
  const positiveWeight = positiveWeightOf(flags, table, validation?.rows)
  return {
    cost: costOf(flags, validation?.rows.length ?? table.rows),
    ...(l1 === undefined ? {} : { l1 }),
    ...(positiveWeight === undefined ? {} : { positiveWeight }),
    bias: flags.number('bias'),
    solver: flags.choice('solver', SOLVERS),
    scale: flags.choice('scale', SCALINGS),
    tolerance:
      flags.optional('tolerance') === undefined
        ? defaultTolerance(blocks)
        : flags.number('tolerance'),
    maxRounds: flags.number('rounds'),
    threads: flags.number('threads'),
    stepSize: flags.number('step-size'),
    seed,
    ...(localSteps === undefined ? {} : { localSteps }),
    ...(blocks === undefined ? {} : { blocks }),
    ...(patience === undefined ? {} : { patience }),
    ...validation,
  }
}

/** The hyperparameters of a published version that say how it was trained. */
export function trainedParameters({
  loss = 'hinge',
  cost = 1,
  l1 = 0,
  positiveWeight = 1,
  bias = 1,
  tolerance = defaultTolerance(),
  solver = 'auto',
  scale = 'none',
}: LinearOptions): Record<string, number | string> {
  const weighted = positiveWeight === 1 ? {} : { positiveWeight }
  const sparse = l1 === 0 ? {} : { l1 }
  return { loss, cost, ...sparse, ...weighted, bias, tolerance, solver, scale }
}

/**
 * C of `--cost`, or of `--regularization`: lambda/2 |w|^2 + mean loss is the objective with C = 1 / (lambda n), times
 * lambda. Throws UsageError.
 */
function costOf(flags: Flags, examples: number): number {
  if (flags.optional('regularization') === undefined) {
    return flags.optional('cost') === undefined ? 1 : flags.number('cost')
  }
  if (flags.optional('cost') !== undefined) {
    throw new UsageError('give --cost or --regularization, not both')
  }
  const lambda = flags.number('regularization')
  if (lambda <= 0) throw new UsageError('--regularization must be above 0')
  return 1 / (lambda * examples)
}

/** The weight of `--positive-weight`; `balanced` is the importance of the negative examples for that of the positive ones. */
function positiveWeightOf(
  flags: Flags,
  { labels, importance }: SparseTable,
  rows: Uint32Array = Uint32Array.from(labels.keys()),
): number | undefined {
  const given = flags.optional('positive-weight')
  if (given !== 'balanced') return given === undefined ? undefined : Number(given)
  const positive = rows.reduce((most, row) => Math.max(most, labels[row]!), -Infinity)
  let [positives, negatives] = [0, 0]
  for (const row of rows) {
    const counts = importance?.[row] ?? 1
    if (labels[row] === positive) positives += counts
    else negatives += counts
  }
  // Of one label, training says what is wrong.
  return negatives === 0 ? undefined : negatives / positives
}

function validationOf(
  table: SparseTable,
  share: number,
  seed: number,
): { readonly rows: Uint32Array } & Pick<LinearOptions, 'validation'> {
  const random = seededRandom(seed)
  const kept = Uint8Array.from({ length: table.rows }, () => (random.next() < share ? 1 : 0))
  const rows = Uint32Array.from({ length: table.rows }, (_, row) => row)
  return {
    rows: rows.filter((row) => kept[row] === 0),
    validation: { table, rows: rows.filter((row) => kept[row] === 1) },
  }
}
