import { EXPONENTIAL_DELAY, type RestartStrategyOptions } from './restart-strategy.ts'
import { parseCount, parseDuration, parseNumber, parseWord, withKey } from './values.ts'

const KEYS = {
  type: 'restart-strategy.type',
  fixedAttempts: 'restart-strategy.fixed-delay.attempts',
  fixedDelay: 'restart-strategy.fixed-delay.delay',
  rateFailures: 'restart-strategy.failure-rate.max-failures-per-interval',
  rateInterval: 'restart-strategy.failure-rate.failure-rate-interval',
  rateDelay: 'restart-strategy.failure-rate.delay',
  initialBackoff: 'restart-strategy.exponential-delay.initial-backoff',
  maxBackoff: 'restart-strategy.exponential-delay.max-backoff',
  multiplier: 'restart-strategy.exponential-delay.backoff-multiplier',
  reset: 'restart-strategy.exponential-delay.reset-backoff-threshold',
  jitter: 'restart-strategy.exponential-delay.jitter-factor',
  resetAttempts: 'restart-strategy.exponential-delay.attempts-before-reset-backoff',
} as const

const STRATEGIES = ['none', 'off', 'disable', 'fixed-delay', 'failure-rate', 'exponential-delay']

/** The keys that `parseRestartConfiguration` reads. */
export const RESTART_CONFIGURATION_KEYS: readonly string[] = Object.values(KEYS)

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
  const read = <T>(key: string, parse: (text: string) => T, fallback: T): T => {
    const text = map[key]
    return text === undefined ? fallback : withKey(key, () => parse(text))
  }
  const type = read(KEYS.type, (text) => parseWord(text, STRATEGIES), base?.type ?? typeMeant(map))
  const of = <Type extends RestartStrategyOptions['type']>(
    wanted: Type,
  ): Partial<Extract<RestartStrategyOptions, { type: Type }>> =>
    base?.type === wanted ? (base as Extract<RestartStrategyOptions, { type: Type }>) : {}
  switch (type) {
    case 'fixed-delay': {
      const from = of('fixed-delay')
      return {
        type,
        attempts: read(KEYS.fixedAttempts, (t) => parseCount(t, 0), from.attempts ?? 1),
        delayMs: read(KEYS.fixedDelay, parseDuration, from.delayMs ?? 1000),
      }
    }
    case 'failure-rate': {
      const from = of('failure-rate')
      return {
        type,
        maxFailuresPerInterval: read(
          KEYS.rateFailures,
          (t) => parseCount(t, 1),
          from.maxFailuresPerInterval ?? 1,
        ),
        failureRateIntervalMs: read(
          KEYS.rateInterval,
          parseDuration,
          from.failureRateIntervalMs ?? 60_000,
        ),
        delayMs: read(KEYS.rateDelay, parseDuration, from.delayMs ?? 1000),
      }
    }
    case 'exponential-delay':
      return parseExponential(read, of('exponential-delay'))
    default:
      return { type: 'none' }
  }
}

function parseExponential(
  read: <T>(key: string, parse: (text: string) => T, fallback: T) => T,
  base: Partial<Extract<RestartStrategyOptions, { type: 'exponential-delay' }>>,
): RestartStrategyOptions {
  const from = { ...EXPONENTIAL_DELAY, ...base }
  const factor = (text: string): number => parseNumber(text, 1, 1000)
  return {
    type: 'exponential-delay',
    initialBackoffMs: read(KEYS.initialBackoff, parseDuration, from.initialBackoffMs),
    maxBackoffMs: read(KEYS.maxBackoff, parseDuration, from.maxBackoffMs),
    backoffMultiplier: read(KEYS.multiplier, factor, from.backoffMultiplier),
    resetBackoffThresholdMs: read(KEYS.reset, parseDuration, from.resetBackoffThresholdMs),
    jitterFactor: read(KEYS.jitter, (t) => parseNumber(t, 0, 1), from.jitterFactor),
    attemptsBeforeResetBackoff: read(
      KEYS.resetAttempts,
      (t) => (t.trim().toLowerCase() === 'infinite' ? Infinity : parseCount(t, 0)),
      from.attemptsBeforeResetBackoff,
    ),
  }
}

/** The strategy whose keys are given, if the type is missing: the keys must not be ignored. */
function typeMeant(map: Readonly<Record<string, string>>): string {
  const meant = STRATEGIES.find((type) =>
    Object.keys(map).some((key) => key.startsWith(`restart-strategy.${type}.`)),
  )
  return meant ?? 'none'
}
