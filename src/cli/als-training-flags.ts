import { systemClock } from '../core/clock.ts'
import type { AlsModel } from '../training/als-model.ts'
import type { AlsOptions } from '../training/als-options.ts'
import type { RatingsTable } from '../training/ratings-table.ts'
import { splitAtRandom } from '../training/split-ratings.ts'
import { trainAls } from '../training/train-als.ts'
import {
  type CommandIo,
  type Flags,
  InterruptedError,
  type OptionSpec,
  UsageError,
} from './command.ts'
import { ProgressBar } from './progress-bar.ts'

/** Flags of ALS training, shared by `train als` and the quickstart. */
export const ALS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  factors: { type: 'string', value: 'N', default: '50', help: 'Latent factors' },
  iterations: { type: 'string', value: 'N', default: '10', help: 'Iterations (both sides)' },
  lambda: { type: 'string', value: 'X', help: 'Regularization (default depends on --penalty)' },
  penalty: {
    type: 'string',
    value: 'KIND',
    help: 'Growth of the penalty with a row: n (ALS-WR; default without biases), sqrt-n, constant',
  },
  'no-biases': { type: 'boolean', help: 'Leave out user and item biases' },
  solver: { type: 'string', value: 'KIND', help: 'cholesky or cg (default by factors)' },
  seed: { type: 'string', value: 'N', default: '1', help: 'Seed of the first factors' },
  threads: { type: 'string', value: 'N', default: '2', help: 'Training threads' },
}

/** Flags that only `train als` has. */
export const ALS_TRAINING_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  implicit: { type: 'boolean', help: 'Ratings are counts of use, not of liking; no biases' },
  alpha: { type: 'string', value: 'X', help: 'Confidence of a count of 1 (default 1)' },
  device: {
    type: 'string',
    value: 'DEVICE',
    default: 'cpu',
    help: 'cpu, gpu (needs the package onnxruntime-node), or auto: a GPU where one is faster',
  },
  'cg-steps': { type: 'string', value: 'N', help: 'Conjugate gradient steps (default 3)' },
  validation: { type: 'string', value: 'SHARE', help: 'Share of the ratings kept for validation' },
  patience: {
    type: 'string',
    value: 'N',
    help: 'End after N iterations without a better validation error',
  },
}

/** The training options that the flags say. Throws UsageError. */
export function alsOptionsOf(flags: Flags): AlsOptions {
  const alpha = flags.optional('alpha') === undefined ? undefined : flags.number('alpha')
  const cgSteps = flags.optionalInteger('cg-steps', 1, 1000)
  const patience = flags.optionalInteger('patience', 1)
  const isImplicit = flags.boolean('implicit')
  return {
    feedback: isImplicit ? 'implicit' : 'explicit',
    ...(alpha === undefined ? {} : { alpha }),
    ...(cgSteps === undefined ? {} : { cgSteps }),
    ...(patience === undefined ? {} : { patience }),
    factors: flags.integer('factors', 1, 1024),
    iterations: flags.integer('iterations', 1, 10_000),
    ...(flags.optional('penalty') === undefined
      ? {}
      : { penalty: flags.choice('penalty', ['n', 'sqrt-n', 'constant']) }),
    biases: !isImplicit && !flags.boolean('no-biases'),
    seed: flags.integer('seed'),
    threads: flags.integer('threads', 0, 256),
    ...(flags.optional('device') === undefined
      ? {}
      : { device: flags.choice('device', ['auto', 'cpu', 'gpu']) }),
    ...(flags.optional('lambda') === undefined ? {} : { regularization: flags.number('lambda') }),
    ...(flags.optional('solver') === undefined
      ? {}
      : { solver: flags.choice('solver', ['cholesky', 'cg']) }),
  }
}

/** The ratings to train on, and those that `--validation` keeps apart. Throws UsageError. */
export function validationSplit(
  table: RatingsTable,
  flags: Flags,
): { readonly train: RatingsTable; readonly validation?: RatingsTable } {
  if (flags.optional('validation') === undefined) {
    if (flags.optional('patience') === undefined) return { train: table }
    throw new UsageError('--patience needs --validation SHARE to measure on')
  }
  const share = flags.number('validation')
  if (!(share > 0 && share < 1)) throw new UsageError('--validation is a share between 0 and 1')
  const { train, test } = splitAtRandom(table, share, flags.integer('seed'))
  return { train, validation: test }
}

/** Trains and shows the objective of every half iteration; Ctrl-C stops between two. */
export async function trainWithProgress(
  table: RatingsTable,
  options: AlsOptions,
  io: CommandIo,
): Promise<AlsModel> {
  const bar = new ProgressBar(io, 'training', () => systemClock.monotonicMs())
  const abort = new AbortController()
  void io.interrupted.then(() => abort.abort(new InterruptedError('interrupted')))
  const halves = (options.iterations ?? 10) * 2
  let done = 0
  const model = await trainAls(table, {
    ...options,
    onDevice: (device, reason) => {
      if (reason !== undefined) io.err(`training on the CPU: ${reason}`)
      options.onDevice?.(device, reason)
    },
    signal: abort.signal,
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
