import { EXPONENTIAL_DELAY, type RestartStrategyOptions } from './restart-strategy.ts'
import { count, duration, number, type ValueType, word } from './value-types.ts'
import { withKey } from './values.ts'

const STRATEGIES = ['none', 'off', 'disable', 'fixed-delay', 'failure-rate', 'exponential-delay']

const infinite: ValueType<number> = {
  ...count(0),
  range: 'at least 0, or infinite',
  parse: (value) =>
    value.trim().toLowerCase() === 'infinite' ? Number.POSITIVE_INFINITY : count(0).parse(value),
}

const FIXED = 'restart-strategy.fixed-delay'
const RATE = 'restart-strategy.failure-rate'
const EXPONENTIAL = 'restart-strategy.exponential-delay'

const OPTIONS = {
  type: option(
    'restart-strategy.type',
    word(Object.fromEntries(STRATEGIES.map((name) => [name, name]))),
    'How a failed job is restarted.',
  ),
  fixedAttempts: option(`${FIXED}.attempts`, count(0), 'Maximum number of restarts.'),
  fixedDelay: option(`${FIXED}.delay`, duration(0), 'Time before each restart.'),
  rateFailures: option(
    `${RATE}.max-failures-per-interval`,
    count(1),
    'Maximum number of failures within the interval.',
  ),
  rateInterval: option(
    `${RATE}.failure-rate-interval`,
    duration(1),
    'Interval in which failures count.',
  ),
  rateDelay: option(`${RATE}.delay`, duration(0), 'Time before each restart.'),
  initialBackoff: option(
    `${EXPONENTIAL}.initial-backoff`,
    duration(1),
    'Time before the first restart.',
  ),
  maxBackoff: option(`${EXPONENTIAL}.max-backoff`, duration(1), 'Maximum time before a restart.'),
  multiplier: option(
    `${EXPONENTIAL}.backoff-multiplier`,
    number(1, 1000),
    'Factor of the time after each failure.',
  ),
  reset: option(
    `${EXPONENTIAL}.reset-backoff-threshold`,
    duration(1),
    'Time without a failure after which the backoff starts again.',
  ),
  jitter: option(
    `${EXPONENTIAL}.jitter-factor`,
    number(0, 1),
    'Random share of the time that is added or subtracted.',
  ),
  resetAttempts: option(
    `${EXPONENTIAL}.attempts-before-reset-backoff`,
    infinite,
    'Restarts before the backoff starts again; `infinite` for no limit.',
  ),
}

/** A key with the type of its values and one sentence about it. */
function option<T>(key: string, type: ValueType<T>, meaning: string) {
  return { key, type, meaning }
}

/** The keys that `parseRestartConfiguration` reads. */
export const RESTART_KEYS = Object.values(OPTIONS).map(({ key, type, meaning }) => ({
  key,
  kind: type.kind,
  range: type.range,
  meaning,
}))

/**
 * The restart strategy that Flink's keys describe; missing values are taken from `base`. Without any
 * key of a strategy it is `base`. Throws INVALID_ARGUMENT.
 */
export function parseRestartConfiguration(
  map: Readonly<Record<string, string>>,
  base: RestartStrategyOptions | undefined,
): RestartStrategyOptions | undefined {
  const ownKeys = Object.keys(map).some((key) => key.startsWith('restart-strategy.'))
  if (!ownKeys) return base
  const read: Read = ({ key, type }, fallback) => {
    const value = map[key]
    return value === undefined ? fallback : withKey(key, () => type.parse(value))
  }
  const type = read(OPTIONS.type, base?.type ?? typeMeant(map))
  const of = <Type extends RestartStrategyOptions['type']>(
    wanted: Type,
  ): Partial<Extract<RestartStrategyOptions, { type: Type }>> =>
    base?.type === wanted ? (base as Extract<RestartStrategyOptions, { type: Type }>) : {}
  switch (type) {
    case 'fixed-delay': {
      const from = of('fixed-delay')
      return {
        type,
        attempts: read(OPTIONS.fixedAttempts, from.attempts ?? 1),
        delayMs: read(OPTIONS.fixedDelay, from.delayMs ?? 1000),
      }
    }
    case 'failure-rate': {
      const from = of('failure-rate')
      return {
        type,
        maxFailuresPerInterval: read(OPTIONS.rateFailures, from.maxFailuresPerInterval ?? 1),
        failureRateIntervalMs: read(OPTIONS.rateInterval, from.failureRateIntervalMs ?? 60_000),
        delayMs: read(OPTIONS.rateDelay, from.delayMs ?? 1000),
      }
    }
    case 'exponential-delay':
      return parseExponential(read, of('exponential-delay'))
    default:
      return { type: 'none' }
  }
}

/** Reads a key of the map; the fallback where it is missing. */
type Read = <T>(option: { readonly key: string; readonly type: ValueType<T> }, fallback: T) => T

function parseExponential(
  read: Read,
  base: Partial<Extract<RestartStrategyOptions, { type: 'exponential-delay' }>>,
): RestartStrategyOptions {
  const from = { ...EXPONENTIAL_DELAY, ...base }
  return {
    type: 'exponential-delay',
    initialBackoffMs: read(OPTIONS.initialBackoff, from.initialBackoffMs),
    maxBackoffMs: read(OPTIONS.maxBackoff, from.maxBackoffMs),
    backoffMultiplier: read(OPTIONS.multiplier, from.backoffMultiplier),
    resetBackoffThresholdMs: read(OPTIONS.reset, from.resetBackoffThresholdMs),
    jitterFactor: read(OPTIONS.jitter, from.jitterFactor),
    attemptsBeforeResetBackoff: read(OPTIONS.resetAttempts, from.attemptsBeforeResetBackoff),
  }
}

/** The strategy whose keys are given, if the type is missing: the keys must not be ignored. */
function typeMeant(map: Readonly<Record<string, string>>): string {
  const meant = STRATEGIES.find((type) =>
    Object.keys(map).some((key) => key.startsWith(`restart-strategy.${type}.`)),
  )
  return meant ?? 'none'
}
