import { DRIFT_DETECTORS, type DriftDetectorName } from '../../models/quality/drift-monitor.ts'
import type { RatingRange } from '../../models/ratings/rating.ts'
import { errorTriggersOf, type RetrainPolicy } from '../../models/registry/retrain-trigger.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import { type Flags, needs, type OptionSpec, UsageError } from '../command/command.ts'
import { age, anyNumber, milliseconds, share, wholeNumber } from '../flag-kinds/numbers.ts'
import { place } from '../flag-kinds/places.ts'
import { word } from '../flag-kinds/words.ts'

/** Flags of the triggers of a retraining. */
export const TRIGGER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  count: {
    type: 'string',
    excludes: ['once'],
    value: wholeNumber({ min: 1 }),
    help: 'Train after N new observations',
  },
  every: {
    type: 'string',
    excludes: ['once'],
    value: age(),
    help: 'Train when the last training is this long ago; beside --evaluate, measure again after this time',
  },
  'error-level': {
    type: 'string',
    excludes: ['once'],
    value: anyNumber({ min: 0 }, 'MSE'),
    help: 'Train when the faded mean squared error of the live version reaches this',
  },
  evaluate: {
    type: 'string',
    needs: [needs('error-level')],
    excludes: ['once', 'error-rise', 'on-drift'],
    value: place('PLACE|TOPIC'),
    help: 'The error of --error-level is that of the live version on this test set, which is measured each --every seconds (default 60): files that are here or at an hdfs:// URL, else a topic',
  },
  'error-rise': {
    type: 'string',
    excludes: ['once'],
    value: share({ min: 0 }),
    help: 'Train when that error has risen by this share since the version went live',
  },
  'on-drift': {
    type: 'string',
    excludes: ['once'],
    value: word(DRIFT_DETECTORS, 'DETECTOR'),
    help: 'Train when this detector (adwin or page-hinkley) finds a change of the error',
  },
  freshness: {
    type: 'string',
    excludes: ['once'],
    value: age(),
    help: 'Train when the newest training observation of the live version is this old',
  },
  'min-interval': {
    type: 'string',
    excludes: ['once'],
    value: age({ min: 0 }),
    default: '0',
    help: 'Shortest time between two trainings',
  },
  interval: {
    type: 'string',
    excludes: ['once'],
    value: milliseconds(),
    default: '1000',
    help: 'Time between two evaluations of the triggers',
  },
}

/** The retraining policy of the flags. Throws UsageError. */
export function policyOf(flags: Flags): RetrainPolicy {
  const ms = (name: string): number | undefined =>
    flags.optional(name) === undefined ? undefined : flags.number(name) * 1000
  const given = {
    count: flags.optionalNumber('count'),
    everyMs: flags.has('evaluate') ? undefined : ms('every'),
    errorLevel: flags.optionalNumber('error-level'),
    errorRise: flags.optionalNumber('error-rise'),
    freshnessMs: ms('freshness'),
  }
  const onDrift = flags.optional('on-drift') !== undefined
  detectorOf(flags)
  const bounds = Object.entries(given).filter(([, value]) => value !== undefined)
  if (bounds.length === 0 && !onDrift) {
    throw new UsageError(
      'no trigger: use --once, or one of --count, --every, --error-level, --error-rise, --on-drift, --freshness',
    )
  }
  return {
    ...Object.fromEntries(bounds),
    onDrift,
    minIntervalMs: flags.number('min-interval') * 1000,
  }
}

/**
 * The retraining policy of the flags. Throws UsageError for a trigger that can never hold: one that needs the error of
 * the live version beside --no-serving, or the age of its data alone where the live version does not say it.
 */
export function holdablePolicyOf(flags: Flags, live: RegisteredVersion | undefined): RetrainPolicy {
  const policy = policyOf(flags)
  const [flag] = errorFlagsOf(policy)
  if (flag !== undefined && flags.boolean('no-serving')) {
    throw new UsageError(
      `${flag} reads the error of the live version from a serving job: leave out --no-serving`,
    )
  }
  const { freshnessMs, count, everyMs } = policy
  const isAlone = freshnessMs !== undefined && count === undefined && everyMs === undefined
  if (isAlone && flag === undefined && live !== undefined && live.lineage.newestEventMs < 0) {
    throw new UsageError(
      `--freshness can never hold: version ${live.number} does not say the time of its newest observation; give --count or --every, too`,
    )
  }
  return policy
}

/** The flags of the triggers that need the error of the live version. */
export function errorFlagsOf(policy: RetrainPolicy): readonly string[] {
  return errorTriggersOf(policy).map((trigger) =>
    trigger === 'drift' ? '--on-drift' : `--${trigger}`,
  )
}

/** The detector of `--on-drift`; ADWIN without the flag. Throws UsageError. */
export function detectorOf(flags: Flags): DriftDetectorName {
  if (flags.optional('on-drift') === undefined) return 'adwin'
  return flags.choice('on-drift', DRIFT_DETECTORS)
}

/** The range of `--rating-range`; undefined without the flag. */
export function rangeOf(flags: Flags): RatingRange | undefined {
  return rangeFlag(flags, 'rating-range')
}

/** The range of a flag, `MIN,MAX`; undefined without the flag. */
export function rangeFlag(flags: Flags, name: string): RatingRange | undefined {
  const text = flags.optional(name)
  if (text === undefined) return undefined
  const [min = Number.NaN, max = Number.NaN] = text.split(',').map(Number)
  return { min, max }
}
