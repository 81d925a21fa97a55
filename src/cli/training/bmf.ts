import { systemClock } from '../../core/clock.ts'
import { chainFile } from '../../training/bmf/chain-file.ts'
import type { BmfOptions } from '../../training/bmf/options.ts'
import { type BmfResult, trainBmf } from '../../training/bmf/train.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import {
  type CommandIo,
  type Flags,
  interruptionSignal,
  needs,
  type OptionSpec,
} from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { outputFileOf } from '../files/output-file.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { output } from '../flag-kinds/places.ts'
import { word } from '../flag-kinds/words.ts'

/** Flags of Bayesian matrix factorisation. */
export const BMF_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  factors: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 1024 }),
    default: '16',
    help: 'Number of latent factors',
  },
  sweeps: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 100_000 }),
    default: '30',
    help: 'Sweeps of the chain; each draws all users and items',
  },
  'burn-in': {
    type: 'string',
    value: wholeNumber({ min: 0, max: 100_000 }),
    help: 'First sweeps, which the rows leave out (default 6, or half of fewer than 12 sweeps)',
  },
  seed: { type: 'string', value: wholeNumber(), default: '1', help: 'Seed of the chain' },
  threads: {
    type: 'string',
    value: wholeNumber({ min: 0, max: 256 }),
    default: '2',
    help: 'Number of training threads',
  },
  device: {
    type: 'string',
    value: word(['cpu', 'gpu'], 'DEVICE'),
    default: 'cpu',
    help: 'cpu, or gpu (needs the package onnxruntime-node; up to 128 factors)',
  },
  chain: {
    type: 'string',
    value: output(),
    help: 'Store the state of the chain in FILE and continue from it: after a kill, or with more --sweeps',
  },
  'chain-every': {
    type: 'string',
    needs: [needs('chain')],
    value: wholeNumber({ min: 1, max: 100_000 }),
    default: '10',
    help: 'Sweeps from one stored state of the chain to the next',
  },
}

/** The training options of the flags. Throws UsageError. */
export function bmfOptionsOf(flags: Flags): BmfOptions & { readonly sweeps: number } {
  const burnIn = flags.optionalNumber('burn-in')
  const chain = outputFileOf(flags, 'chain')
  return {
    factors: flags.number('factors'),
    sweeps: flags.number('sweeps'),
    ...(burnIn === undefined ? {} : { burnIn }),
    seed: flags.number('seed'),
    threads: flags.number('threads'),
    device: flags.choice('device', ['cpu', 'gpu']),
    ...(chain === undefined ? {} : { store: chainFile(chain) }),
    storeEvery: flags.number('chain-every'),
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
