import type { RatingRange } from '../models/rating.ts'
import type { RetrainPolicy } from '../models/retrain-trigger.ts'
import { type Flags, type OptionSpec, UsageError } from './command.ts'

/** Flags that say when to retrain. */
export const TRIGGER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  count: { type: 'string', value: 'N', help: 'Train after so many new observations' },
  every: { type: 'string', value: 'SECONDS', help: 'Train so long after the last training' },
  'error-level': {
    type: 'string',
    value: 'MSE',
    help: 'Train when the faded mean squared error of live reaches this',
  },
  'error-rise': {
    type: 'string',
    value: 'SHARE',
    help: 'Train when it rises by this share over what it was when the version went live',
  },
  'on-drift': {
    type: 'string',
    value: 'DETECTOR',
    help: 'Train when adwin or page-hinkley finds a change in the error',
  },
  freshness: {
    type: 'string',
    value: 'SECONDS',
    help: "Train when live's newest training observation is so old",
  },
  'min-interval': {
    type: 'string',
    value: 'SECONDS',
    default: '0',
    help: 'Shortest time between two trainings',
  },
  interval: { type: 'string', value: 'MS', default: '1000', help: 'Time between two looks' },
}

/** The policy that the flags say. Throws UsageError. */
export function policyOf(flags: Flags): RetrainPolicy {
  const optional = (name: string, scale = 1): number | undefined =>
    flags.optional(name) === undefined ? undefined : flags.number(name) * scale
  const given = {
    count: flags.optionalInteger('count', 1),
    everyMs: optional('every', 1000),
    errorLevel: optional('error-level'),
    errorRise: optional('error-rise'),
    freshnessMs: optional('freshness', 1000),
  }
  const onDrift = flags.optional('on-drift') !== undefined
  if (onDrift) flags.choice('on-drift', ['adwin', 'page-hinkley'])
  const bounds = Object.entries(given).filter(([, value]) => value !== undefined)
  if (bounds.length === 0 && !onDrift) {
    throw new UsageError(
      'give --once, or say when to train: --count, --every, --error-level, --error-rise, --on-drift or --freshness',
    )
  }
  return {
    ...Object.fromEntries(bounds),
    onDrift,
    minIntervalMs: flags.number('min-interval') * 1000,
  }
}

/** The rating scale of `--rating-range`, or undefined. Throws UsageError. */
export function rangeOf(flags: Flags): RatingRange | undefined {
  return rangeFlag(flags, 'rating-range')
}

/** The range that a flag says, `MIN,MAX`, or undefined. Throws UsageError. */
export function rangeFlag(flags: Flags, name: string): RatingRange | undefined {
  const text = flags.optional(name)
  if (text === undefined) return undefined
  const [min, max] = text.split(',').map(Number)
  if (min === undefined || max === undefined || !(min < max)) {
    throw new UsageError(`--${name} must be MIN,MAX such as 1,5, not "${text}"`)
  }
  return { min, max }
}
