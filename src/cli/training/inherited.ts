import type { FactorsTrainer, RetrainAlsOptions } from '../../jobs/retrain/messages.ts'
import { feedbackOf } from '../../models/als/feedback.ts'
import { BIAS_COLUMNS } from '../../models/als/row.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import { type Flags, UsageError } from '../command/command.ts'
import { inheritedAlsOptions } from '../flags/als-training.ts'

const TRAINERS: readonly FactorsTrainer[] = ['als', 'bmf']
/** Flags of ALS that a chain does not have. */
const ONLY_ALS = ['iterations', 'lambda', 'penalty', 'no-biases', 'solver'] as const

const isGiven = (flags: Flags, flag: string): boolean =>
  flags.optional(flag) !== undefined || flags.boolean(flag)

/**
 * The trainer where no flag names it: that of the live version. Where none is live it is the chain, which is
 * better at equal time (decision 0018), or ALS if a flag that only ALS has is given.
 */
function usualTrainer(flags: Flags, live: RegisteredVersion | undefined): FactorsTrainer {
  if (live !== undefined) return live.lineage.hyperparameters['trainer'] === 'bmf' ? 'bmf' : 'als'
  return ONLY_ALS.some((flag) => isGiven(flags, flag)) ? 'als' : 'bmf'
}

/**
 * The trainer and the training options of a factor model that follows a live version: those of the flags, else
 * those of the live version, else the defaults. Rows that are served cannot change their length, so the factors
 * follow from the live rows. Throws UsageError.
 */
export function inheritedFactorsOptions(
  flags: Flags,
  live: RegisteredVersion | undefined,
): RetrainAlsOptions {
  const known = live?.lineage.hyperparameters ?? {}
  const isNamed = flags.optional('trainer') !== undefined
  const trainer = isNamed ? flags.choice('trainer', TRAINERS) : usualTrainer(flags, live)
  if (trainer === 'als') {
    if (flags.optional('sweeps') !== undefined) throw new UsageError('--sweeps needs --trainer bmf')
    return inheritedAlsOptions(flags, live) as RetrainAlsOptions
  }
  if (feedbackOf(known) === 'implicit') {
    throw new UsageError(
      `version ${live?.number} was trained on implicit feedback, which --trainer bmf cannot learn; leave it out`,
    )
  }
  for (const flag of ONLY_ALS) {
    if (isGiven(flags, flag)) throw new UsageError(`--${flag} is no option of --trainer bmf`)
  }
  // Only the length counts: a version without biases is followed by one with biases and fewer factors.
  const factors = live === undefined ? 16 : live.dimension - BIAS_COLUMNS
  const burnIn = known['burnIn']
  return {
    trainer,
    factors: flags.optionalInteger('factors', 1, 1024) ?? factors,
    sweeps: flags.optionalInteger('sweeps', 1, 100_000) ?? Number(known['sweeps'] ?? 30),
    ...(typeof burnIn === 'number' ? { burnIn } : {}),
    biases: true,
    seed: flags.optionalInteger('seed') ?? Number(known['seed'] ?? 1),
    threads: flags.integer('threads', 0, 256),
  }
}
