import { systemClock } from '../../core/clock.ts'
import { chainFile } from '../../training/bmf/chain-file.ts'
import type { BmfOptions } from '../../training/bmf/options.ts'
import { type BmfResult, trainBmf } from '../../training/bmf/train.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import {
  type CommandIo,
  type Flags,
  interruptionSignal,
  type OptionSpec,
} from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { outputFileOf } from '../files/output-file.ts'

/** Flags of Bayesian matrix factorisation. */
export const BMF_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  factors: { type: 'string', value: 'N', default: '16', help: 'Number of latent factors' },
  sweeps: {
    type: 'string',
    value: 'N',
    default: '30',
    help: 'Sweeps of the chain; each draws all users and items',
  },
  'burn-in': {
    type: 'string',
    value: 'N',
    help: 'First sweeps, which the rows leave out (default 6, or half of fewer than 12 sweeps)',
  },
  seed: { type: 'string', value: 'N', default: '1', help: 'Seed of the chain' },
  threads: { type: 'string', value: 'N', default: '2', help: 'Number of training threads' },
  device: {
    type: 'string',
    value: 'DEVICE',
    default: 'cpu',
    help: 'cpu, or gpu (needs the package onnxruntime-node; up to 128 factors)',
  },
  chain: {
    type: 'string',
    value: 'FILE',
    help: 'Store the state of the chain in FILE and continue from it: after a kill, or with more --sweeps',
  },
  'chain-every': {
    type: 'string',
    value: 'N',
    default: '10',
    help: 'Sweeps from one stored state of the chain to the next',
  },
}

/** The training options of the flags. Throws UsageError. */
export function bmfOptionsOf(flags: Flags): BmfOptions & { readonly sweeps: number } {
  const burnIn = flags.optionalInteger('burn-in', 0)
  const chain = outputFileOf(flags, 'chain')
  return {
    factors: flags.integer('factors', 1, 1024),
    sweeps: flags.integer('sweeps', 1, 100_000),
    ...(burnIn === undefined ? {} : { burnIn }),
    seed: flags.integer('seed'),
    threads: flags.integer('threads', 0, 256),
    device: flags.choice('device', ['cpu', 'gpu']),
    ...(chain === undefined ? {} : { store: chainFile(chain) }),
    storeEvery: flags.integer('chain-every', 1),
  }
}

/** Trains and shows the error after every sweep; Ctrl-C stops it there. */
export async function trainBmfWithProgress(
  table: RatingsTable,
  options: BmfOptions & { readonly sweeps: number },
  io: CommandIo,
): Promise<BmfResult> {
  const bar = new ProgressBar(io, 'training', () => systemClock.monotonicMs())
  const result = await trainBmf(table, {
    ...options,
    signal: interruptionSignal(io),
    onProgress: ({ sweep, kept, trainRmse, validationRmse }) => {
      const error =
        validationRmse === undefined
          ? `training RMSE ${trainRmse.toFixed(4)}`
          : `validation RMSE ${validationRmse.toFixed(4)}`
      bar.update(sweep, options.sweeps, `sweep ${sweep}${kept ? '' : ' (burn-in)'}: ${error}`)
    },
  })
  bar.finish()
  return result
}
