import { systemClock } from '../core/clock.ts'
import type { AlsModel } from '../training/als-model.ts'
import type { AlsOptions } from '../training/als-options.ts'
import type { RatingsTable } from '../training/ratings-table.ts'
import { trainAls } from '../training/train-als.ts'
import { type CommandIo, type Flags, InterruptedError, type OptionSpec } from './command.ts'
import { ProgressBar } from './progress-bar.ts'

/** Flags of ALS training, shared by `train als` and the quickstart. */
export const ALS_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  factors: { type: 'string', value: 'N', default: '50', help: 'Latent factors' },
  iterations: { type: 'string', value: 'N', default: '10', help: 'Iterations (both sides)' },
  lambda: { type: 'string', value: 'X', help: 'Regularization (default depends on --penalty)' },
  penalty: {
    type: 'string',
    value: 'KIND',
    default: 'sqrt-n',
    help: 'Growth of the penalty with a row: n (ALS-WR), sqrt-n, constant',
  },
  'no-biases': { type: 'boolean', help: 'Leave out user and item biases' },
  solver: { type: 'string', value: 'KIND', help: 'cholesky or cg (default by factors)' },
  seed: { type: 'string', value: 'N', default: '1', help: 'Seed of the first factors' },
  threads: { type: 'string', value: 'N', default: '2', help: 'Training threads' },
}

/** The training options that the flags say. Throws UsageError. */
export function alsOptionsOf(flags: Flags): AlsOptions {
  return {
    factors: flags.integer('factors', 1, 1024),
    iterations: flags.integer('iterations', 1, 10_000),
    penalty: flags.choice('penalty', ['n', 'sqrt-n', 'constant']),
    biases: !flags.boolean('no-biases'),
    seed: flags.integer('seed'),
    threads: flags.integer('threads', 0, 256),
    ...(flags.optional('lambda') === undefined ? {} : { regularization: flags.number('lambda') }),
    ...(flags.optional('solver') === undefined
      ? {}
      : { solver: flags.choice('solver', ['cholesky', 'cg']) }),
  }
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
