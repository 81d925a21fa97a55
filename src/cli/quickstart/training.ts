import { alsOptionsIn, bmfOptionsIn, type RetrainAlsOptions } from '../../kinds/als/options.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import type { CommandIo, Flags, OptionSpec } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { word } from '../flag-kinds/words.ts'
import { ALS_OPTIONS, trainWithProgress } from '../flags/als-training.ts'
import { trainBmfWithProgress } from '../training/bmf.ts'
import { inheritedFactorsOptions, TRAINERS } from '../training/inherited.ts'

/** Flags of the quickstart's training. Their defaults depend on the trainer. */
export const TRAINING_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  trainer: {
    type: 'string',
    value: word(TRAINERS, 'NAME'),
    help: 'bmf (Bayesian factorisation) or als (default: bmf, or als with a flag that only als has)',
  },
  sweeps: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 100_000 }),
    help: 'bmf: sweeps of the chain (default 30)',
  },
  ...withoutDefaults(ALS_OPTIONS),
  factors: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 1024 }),
    help: 'Number of latent factors (default: bmf 16, als 50)',
  },
  iterations: {
    type: 'string',
    value: wholeNumber({ min: 1, max: 10_000 }),
    help: 'als: iterations; each solves users and items (default 10)',
  },
}

/** The flags with the defaults of threads only. */
function withoutDefaults(
  options: Readonly<Record<string, OptionSpec>>,
): Record<string, OptionSpec> {
  return Object.fromEntries(
    Object.entries(options).map(([name, { default: value, ...spec }]) => {
      if (value === undefined || name === 'threads') return [name, options[name]!]
      return [name, { ...spec, help: `${spec.help} (default ${value})` }]
    }),
  )
}

/** The trainer and its options. Throws UsageError. */
export function trainingOf(flags: Flags): RetrainAlsOptions {
  return inheritedFactorsOptions(flags, undefined)
}

/** A model, and how it was trained in words. */
export interface QuickstartModel {
  readonly model: AlsModel
  readonly trainer: string
  /** "30 sweeps". */
  readonly work: string
}

/** Trains and shows the progress; Ctrl-C stops it. */
export async function trainQuickstart(
  table: RatingsTable,
  training: RetrainAlsOptions,
  io: CommandIo,
): Promise<QuickstartModel> {
  if (training.trainer !== 'bmf') {
    const model = await trainWithProgress(table, alsOptionsIn(training), io)
    return { model, trainer: 'ALS', work: `${training.iterations} iterations` }
  }
  const sweeps = training.sweeps ?? 30
  const { model } = await trainBmfWithProgress(table, { ...bmfOptionsIn(training), sweeps }, io)
  return { model, trainer: 'Bayesian factorisation', work: `${sweeps} sweeps` }
}
