import { FEATURED_SIDES } from '../../kinds/als/features-file.ts'
import type { AlsTrainerName, RetrainAlsOptions } from '../../kinds/als/options.ts'
import { BIAS_COLUMNS } from '../../models/als/row.ts'
import { type Feedback, feedbackOf } from '../../models/feedback.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import { type Flags, UsageError } from '../command/command.ts'
import { inheritedAlsOptions } from '../flags/als-training.ts'
import { halfLifeOf } from './half-life.ts'

/** Flags of a chain that ALS does not have. */
const ONLY_BMF = ['sweeps', 'user-features', 'item-features', 'no-features']

/** Trainers of factor models, as `--trainer` names them. */
export const TRAINERS: readonly AlsTrainerName[] = ['als', 'bmf']
/** Flags of ALS that a chain does not have. */
const ONLY_ALS = [
  ...['iterations', 'lambda', 'penalty', 'no-biases', 'solver'],
  ...['implicit', 'alpha'],
]

/** The feedback that a version says it was trained on; undefined for one of rows that others made. */
function feedbackSaidBy({ lineage }: RegisteredVersion): Feedback | undefined {
  const { feedback, trainer } = lineage.hyperparameters
  if (feedback === undefined && trainer !== 'bmf') return undefined
  return feedbackOf(lineage.hyperparameters)
}

/**
 * The feedback of a training: that of the versions of the model, which `newest` says. `--implicit` chooses it for a
 * model whose versions do not say it. Throws UsageError where they say another, and for `--alpha` of explicit feedback.
 */
export function feedbackFor(flags: Flags, newest: RegisteredVersion | undefined): Feedback {
  const said = newest && feedbackSaidBy(newest)
  if (flags.boolean('implicit') && said === 'explicit') {
    throw new UsageError(
      `version ${newest?.number} of ${newest?.name} was trained on explicit feedback, and one model has one kind; leave out --implicit, or train under another --model`,
    )
  }
  const feedback = flags.boolean('implicit') ? 'implicit' : (said ?? 'explicit')
  if (feedback === 'explicit' && flags.optional('alpha') !== undefined) {
    throw new UsageError('--alpha needs --implicit')
  }
  return feedback
}

/**
 * The trainer where no flag names it: that of the live version, and ALS for implicit feedback. Where no version is live
 * it is the chain, which is better at equal time (docs/decisions/matrix-factorisation.md#bayesian-factorisation), or ALS
 * if a flag that only ALS has is given.
 */
function usualTrainer(
  flags: Flags,
  live: RegisteredVersion | undefined,
  feedback: Feedback,
): AlsTrainerName {
  if (feedback === 'implicit') return 'als'
  if (live !== undefined) return live.lineage.hyperparameters['trainer'] === 'bmf' ? 'bmf' : 'als'
  return ONLY_ALS.some((flag) => flags.has(flag)) ? 'als' : 'bmf'
}

/**
 * The trainer and the training options of a factor model that follows a live version: those of the flags, else
 * those of the live version, else the defaults. Factors that are not given follow from the live rows. `newest`: the newest version, which says the feedback where none is live. Throws UsageError.
 */
export function inheritedFactorsOptions(
  flags: Flags,
  live: RegisteredVersion | undefined,
  newest: RegisteredVersion | undefined = live,
): RetrainAlsOptions {
  const known = live?.lineage.hyperparameters ?? {}
  const feedback = feedbackFor(flags, live ?? newest)
  const isNamed = flags.optional('trainer') !== undefined
  const trainer = isNamed ? flags.choice('trainer', TRAINERS) : usualTrainer(flags, live, feedback)
  if (trainer === 'als') {
    for (const flag of ONLY_BMF) {
      if (flags.has(flag)) throw new UsageError(`--${flag} needs --trainer bmf`)
    }
    return inheritedAls(flags, live, feedback)
  }
  if (feedback === 'implicit') {
    throw new UsageError('--trainer bmf cannot learn implicit feedback; leave it out')
  }
  for (const flag of ONLY_ALS) {
    if (flags.has(flag)) throw new UsageError(`--${flag} is no option of --trainer bmf`)
  }
  const device = flags.optional('device') ?? 'cpu'
  if (device === 'auto') throw new UsageError('--device auto is of --trainer als; give cpu or gpu')
  // Only the length counts: a version without biases is followed by one with biases and fewer factors.
  const factors = live === undefined ? 16 : live.dimension - BIAS_COLUMNS
  const burnIn = known['burnIn']
  return {
    trainer,
    factors: flags.optionalNumber('factors') ?? factors,
    sweeps: flags.optionalNumber('sweeps') ?? Number(known['sweeps'] ?? 30),
    ...(typeof burnIn === 'number' ? { burnIn } : {}),
    ...(known['intervals'] === true ? { intervals: true } : {}),
    ...(known['whoRated'] === true ? { whoRated: true } : {}),
    ...inheritedFeatures(flags, live),
    biases: true,
    seed: flags.optionalNumber('seed') ?? Number(known['seed'] ?? 1),
    threads: flags.number('threads'),
    ...(device === 'cpu' ? {} : { device: 'gpu' }),
    ...halfLifeOf(flags, live),
  }
}

/**
 * The files of features of the flags, else those that the live version names. Throws UsageError where the version was
 * trained with features and does not say where they are.
 */
function inheritedFeatures(
  flags: Flags,
  live: RegisteredVersion | undefined,
): Pick<RetrainAlsOptions, 'userFeaturesFile' | 'itemFeaturesFile'> {
  const files = FEATURED_SIDES.map((side) => [`${side}FeaturesFile`, fileOf(side, flags, live)])
  return Object.fromEntries(files.filter(([, file]) => file !== undefined))
}

function fileOf(
  side: (typeof FEATURED_SIDES)[number],
  flags: Flags,
  live: RegisteredVersion | undefined,
): string | undefined {
  const flag = `${side}-features`
  if (flags.has(flag)) return flags.string(flag)
  const known = live?.lineage.hyperparameters ?? {}
  const file = known[`${side}FeaturesFile`]
  if (flags.boolean('no-features')) return undefined
  if (typeof file === 'string') return file
  if (known[`${side}Features`] === undefined) return undefined
  throw new UsageError(
    `version ${live?.number} of ${live?.name} was trained with features of ${side}s and does not say of which file; give --${flag} FILE, or leave features out with --no-features`,
  )
}

function inheritedAls(
  flags: Flags,
  live: RegisteredVersion | undefined,
  feedback: Feedback,
): RetrainAlsOptions {
  const { solver, ...options } = inheritedAlsOptions(flags, live, feedback) as RetrainAlsOptions
  const half = halfLifeOf(flags, live)
  // Weighed ratings have one solver: that of the live version may be another.
  const isWeighed = half.halfLifeMs !== undefined && flags.optional('solver') === undefined
  return { ...options, ...(isWeighed || solver === undefined ? {} : { solver }), ...half }
}
