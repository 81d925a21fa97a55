import { systemClock } from '../../core/clock.ts'
import { PENALTY_SCALINGS } from '../../models/als/penalty.ts'
import { BIAS_COLUMNS } from '../../models/als/row.ts'
import type { Feedback } from '../../models/feedback.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import type { AlsOptions } from '../../training/als/solver/options.ts'
import type { RatingsSource } from '../../training/als/solver/sides.ts'
import { trainAls } from '../../training/als/train.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import { splitAtRandom } from '../../training/data/split-ratings.ts'
import {
  type CommandIo,
  Flags,
  interruptionSignal,
  needs,
  type OptionSpec,
} from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { anyNumber, share, wholeNumber } from '../flag-kinds/numbers.ts'
import { word } from '../flag-kinds/words.ts'

const SOLVERS = ['cholesky', 'cg'] as const
const DEVICES = ['cpu', 'gpu', 'auto'] as const

/** Flags of ALS training; `train als`, `retrain` and the quickstart have them. */
export const ALS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  factors: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 1024 }),
    default: '50',
    help: 'Number of latent factors',
  },
  iterations: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 10_000 }),
    default: '10',
    help: 'Iterations; each solves users and items',
  },
  lambda: {
    type: 'string',
    value: anyNumber({ above: 0 }),
    help: 'Regularization (the default depends on --penalty)',
  },
  penalty: {
    type: 'string',
    value: word(PENALTY_SCALINGS, 'KIND'),
    help: 'How the penalty grows with the n ratings of a row: n (ALS-WR, default without biases), sqrt-n, constant',
  },
  'no-biases': { type: 'boolean', help: 'Train without user and item biases' },
  solver: {
    type: 'string',
    value: word(SOLVERS, 'KIND'),
    help: 'cholesky (exact, default up to 32 factors) or cg (conjugate gradient)',
  },
  seed: { type: 'string', value: wholeNumber(), default: '1', help: 'Seed of the initial factors' },
  threads: {
    type: 'string',
    value: wholeNumber({ min: 0, max: 256 }),
    default: '2',
    help: 'Number of training threads',
  },
}

/** Flags of ALS training that the quickstart does not have. */
export const ALS_TRAINING_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  implicit: {
    type: 'boolean',
    help: 'Treat values as usage counts (implicit feedback); disables biases',
  },
  alpha: {
    type: 'string',
    needs: [needs('implicit')],
    value: anyNumber({ above: 0 }),
    help: 'implicit: confidence added by a count of 1 (default 1)',
  },
  device: {
    type: 'string',
    value: word(DEVICES, 'DEVICE'),
    default: 'cpu',
    help: 'cpu, gpu (needs the package onnxruntime-node), or auto (the faster one of a short trial)',
  },
  'cg-steps': {
    type: 'string',
    value: wholeNumber({ min: 1, max: 1000 }),
    help: 'Conjugate gradient steps of a row (default 3)',
  },
  validation: {
    type: 'string',
    value: share({ above: 0, below: 1 }),
    help: 'Share of the ratings to validate on',
  },
  patience: {
    type: 'string',
    needs: [needs('validation')],
    value: wholeNumber({ min: 1 }),
    help: 'Stop after N iterations without a lower validation error',
  },
}

/** The training options of the flags. Throws UsageError. */
export function alsOptionsOf(flags: Flags): AlsOptions {
  const alpha = flags.optionalNumber('alpha')
  const cgSteps = flags.optionalNumber('cg-steps')
  const patience = flags.optionalNumber('patience')
  const isImplicit = flags.boolean('implicit')
  return {
    feedback: isImplicit ? 'implicit' : 'explicit',
    ...(alpha === undefined ? {} : { alpha }),
    ...(cgSteps === undefined ? {} : { cgSteps }),
    ...(patience === undefined ? {} : { patience }),
    factors: flags.number('factors'),
    iterations: flags.number('iterations'),
    ...(flags.optional('penalty') === undefined
      ? {}
      : { penalty: flags.choice('penalty', PENALTY_SCALINGS) }),
    biases: !isImplicit && !flags.boolean('no-biases'),
    seed: flags.number('seed'),
    threads: flags.number('threads'),
    ...(flags.optional('device') === undefined
      ? {}
      : { device: flags.choice('device', ['auto', 'cpu', 'gpu']) }),
    ...(flags.optional('lambda') === undefined ? {} : { regularization: flags.number('lambda') }),
    ...(flags.optional('solver') === undefined
      ? {}
      : { solver: flags.choice('solver', ['cholesky', 'cg']) }),
  }
}

/** Defaults of `ALS_OPTIONS` for a model that has no live version. */
const DEFAULTS = Object.fromEntries(
  Object.entries(ALS_OPTIONS).flatMap(([name, { default: value }]) =>
    value === undefined ? [] : [[name, value]],
  ),
)

/**
 * `ALS_OPTIONS` of a retraining, whose defaults are the options of the live version, and the feedback of a first
 * version.
 */
export const INHERITED_ALS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...(Object.fromEntries(
    Object.entries(ALS_OPTIONS).map(([name, { default: value, ...spec }]) => {
      if (spec.type === 'boolean' || name === 'threads') return [name, ALS_OPTIONS[name]!]
      const fallback = value === undefined ? '' : `, else ${value}`
      return [name, { ...spec, help: `${spec.help} (default: of the live version${fallback})` }]
    }),
  ) as Readonly<Record<string, OptionSpec>>),
  device: {
    type: 'string',
    value: word(DEVICES, 'DEVICE'),
    help: 'cpu, gpu (needs the package onnxruntime-node), or auto (als: the faster one of a short trial) (default: cpu)',
  },
  implicit: {
    type: 'boolean',
    help: 'First version: treat values as usage counts (default: as the versions of the model do)',
  },
  alpha: {
    type: 'string',
    value: anyNumber({ above: 0 }),
    help: 'implicit: confidence added by a count of 1 (default: of the live version, else 1)',
  },
}

/**
 * The training options of a retraining on a kind of feedback: those of the flags, else those that the live version was
 * trained with, else the defaults. The factors of a version whose options are not known follow from its rows. Throws
 * UsageError.
 */
export function inheritedAlsOptions(
  flags: Flags,
  live: RegisteredVersion | undefined,
  feedback: Feedback,
): AlsOptions {
  const known = live?.lineage.hyperparameters ?? {}
  const wasBiased =
    known['biases'] ?? live?.biased ?? (live === undefined || live.dimension !== known['factors'])
  const isImplicit = feedback === 'implicit'
  const biases = wasBiased === true && !isImplicit && !flags.boolean('no-biases')
  const factors =
    live === undefined
      ? undefined
      : (known['factors'] ?? live.dimension - (biases ? BIAS_COLUMNS : 0))
  const inherited = {
    factors,
    iterations: known['iterations'],
    lambda: known['regularization'],
    penalty: known['penalty'],
    solver: known['solver'],
    seed: known['seed'],
    alpha: known['alpha'],
  }
  const values: Record<string, string | boolean> = {
    ...DEFAULTS,
    'no-biases': !biases,
    implicit: isImplicit,
  }
  for (const [name, value] of Object.entries(inherited)) {
    if (value !== undefined) values[name] = String(value)
  }
  for (const name of Object.keys(INHERITED_ALS_OPTIONS)) {
    const given = flags.optional(name)
    if (given !== undefined) values[name] = given
  }
  // The solver of the live version may have been that of a CPU.
  if (values['device'] === 'gpu' && flags.optional('solver') === undefined) delete values['solver']
  return alsOptionsOf(new Flags(values))
}

/** The ratings to train on and, with `--validation`, those to validate on. Throws UsageError. */
export function validationSplit(
  table: RatingsTable,
  flags: Flags,
): { readonly train: RatingsTable; readonly validation?: RatingsTable } {
  const share = flags.optionalNumber('validation')
  if (share === undefined) return { train: table }
  const { train, test } = splitAtRandom(table, share, flags.number('seed'))
  return { train, validation: test }
}

/** Trains and shows the objective after every half iteration; Ctrl-C stops it there. */
export async function trainWithProgress(
  table: RatingsSource,
  options: AlsOptions,
  io: CommandIo,
): Promise<AlsModel> {
  const bar = new ProgressBar(io, 'training', () => systemClock.monotonicMs())
  const halves = (options.iterations ?? 10) * 2
  let done = 0
  const model = await trainAls(table, {
    ...options,
    onDevice: (device, reason) => {
      if (reason !== undefined) io.err(`training on the CPU: ${reason}`)
      options.onDevice?.(device, reason)
    },
    signal: interruptionSignal(io),
    onProgress: ({ iteration, side, objective }) => {
      bar.update(
        ++done,
        halves,
        `iteration ${iteration}, ${side}: objective ${objective.toFixed(0)}`,
      )
    },
  })
  bar.finish()
  return model
}
