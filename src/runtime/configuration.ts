import type { CheckpointMode } from '../checkpoint/protocol/checkpoint-types.ts'
import { WeirError } from '../core/errors.ts'
import { nearestWord } from '../core/nearest-word.ts'
import type { StateStoreType } from '../state/state-store.ts'
import {
  parseCount,
  parseDuration,
  parseNumber,
  parseSize,
  parseWord,
} from './configuration-values.ts'
import { EXPONENTIAL_DELAY, type RestartStrategyOptions } from './restart-strategy.ts'

/** Configuration as users write it: Flink's key to text. */
export type ConfigurationMap = Readonly<Record<string, string>>

/** How checkpoints are taken. */
export interface CheckpointConfiguration {
  /** Time between triggers; undefined takes none by itself. */
  readonly intervalMs: number | undefined
  readonly mode: CheckpointMode
  readonly timeoutMs: number
  readonly minPauseMs: number
  readonly tolerableFailures: number
  readonly retained: number
  /** Where checkpoints go (`file://` URL or path); undefined takes none. */
  readonly directory: string | undefined
  readonly savepointDirectory: string | undefined
}

/** How records travel between chains. */
export interface NetworkConfiguration {
  /** Bytes at which a batch is sent. */
  readonly batchBytes: number
  /** Batches of a channel that may be under way or waiting at the receiver. */
  readonly credits: number
  /** Longest time that a record waits for its batch to fill. */
  readonly bufferTimeoutMs: number
}

/** The configuration of one job: checked once, complete, plain data. */
export interface JobConfiguration {
  readonly parallelism: number
  /** Undefined: Flink's default from the parallelism. */
  readonly maxParallelism: number | undefined
  readonly slots: number | undefined
  readonly autoWatermarkIntervalMs: number
  readonly stateBackend: StateStoreType
  /** Bytes of keyed state that all slots together hold in memory. */
  readonly stateMemoryBytes: number
  /** Folder for spilled state; undefined uses the machine's folder for temporary files. */
  readonly stateDirectory: string | undefined
  readonly checkpoints: CheckpointConfiguration
  /** Undefined: what `restartStrategyOf` takes. */
  readonly restart: RestartStrategyOptions | undefined
  readonly network: NetworkConfiguration
  readonly heartbeatIntervalMs: number
  readonly heartbeatTimeoutMs: number
}

/** What holds where nothing was said. */
export const DEFAULT_JOB_CONFIGURATION: JobConfiguration = Object.freeze({
  parallelism: 1,
  maxParallelism: undefined,
  slots: undefined,
  autoWatermarkIntervalMs: 10,
  stateBackend: 'rocksdb',
  stateMemoryBytes: 512 * 2 ** 20,
  stateDirectory: undefined,
  checkpoints: Object.freeze({
    intervalMs: undefined,
    mode: 'exactly-once',
    timeoutMs: 600_000,
    minPauseMs: 0,
    tolerableFailures: 0,
    retained: 1,
    directory: undefined,
    savepointDirectory: undefined,
  }),
  restart: undefined,
  network: Object.freeze({ batchBytes: 32 * 1024, credits: 4, bufferTimeoutMs: 1 }),
  heartbeatIntervalMs: 10_000,
  heartbeatTimeoutMs: 50_000,
})

type Draft = {
  -readonly [K in keyof Omit<JobConfiguration, 'checkpoints' | 'network'>]: JobConfiguration[K]
} & {
  checkpoints: { -readonly [K in keyof CheckpointConfiguration]: CheckpointConfiguration[K] }
  network: { -readonly [K in keyof NetworkConfiguration]: NetworkConfiguration[K] }
}

interface Option {
  readonly meaning: string
  readonly set: (draft: Draft, text: string) => void
}

const STORES: Readonly<Record<string, StateStoreType>> = {
  heap: 'heap',
  hashmap: 'heap',
  rocksdb: 'rocksdb',
  leveldb: 'leveldb',
}

const MODES = ['exactly-once', 'exactly_once', 'at-least-once', 'at_least_once'] as const

const STRATEGIES = ['none', 'off', 'disable', 'fixed-delay', 'failure-rate', 'exponential-delay']

const OPTIONS: Readonly<Record<string, Option>> = {
  'parallelism.default': {
    meaning: 'Parallelism of operators that set none.',
    set: (draft, text) => {
      draft.parallelism = parseCount(text, 1)
    },
  },
  'pipeline.max-parallelism': {
    meaning: 'Number of key groups; fixed for the life of the state.',
    set: (draft, text) => {
      draft.maxParallelism = parseCount(text, 1)
    },
  },
  'pipeline.auto-watermark-interval': {
    meaning: 'Longest time between two watermarks of a busy source.',
    set: (draft, text) => {
      draft.autoWatermarkIntervalMs = parseDuration(text)
    },
  },
  'taskmanager.numberOfTaskSlots': {
    meaning: 'Slot threads; the largest parallelism of the job when missing.',
    set: (draft, text) => {
      draft.slots = parseCount(text, 1)
    },
  },
  'state.backend.type': {
    meaning: 'Store of spilled state: heap (hashmap), rocksdb or leveldb.',
    set: (draft, text) => {
      draft.stateBackend = STORES[parseWord(text, Object.keys(STORES))]!
    },
  },
  'state.backend.memory.budget': {
    meaning: 'Memory for keyed state of all slots together.',
    set: (draft, text) => {
      draft.stateMemoryBytes = parseSize(text)
    },
  },
  'state.backend.directory': {
    meaning: 'Folder for spilled state; deleted when the job ends.',
    set: (draft, text) => {
      draft.stateDirectory = text
    },
  },
  'execution.checkpointing.interval': {
    meaning: 'Time between two checkpoints.',
    set: (draft, text) => {
      draft.checkpoints.intervalMs = parseDuration(text)
    },
  },
  'execution.checkpointing.mode': {
    meaning: 'EXACTLY_ONCE or AT_LEAST_ONCE.',
    set: (draft, text) => {
      const word = parseWord(text, MODES)
      draft.checkpoints.mode = word.startsWith('exactly') ? 'exactly-once' : 'at-least-once'
    },
  },
  'execution.checkpointing.timeout': {
    meaning: 'Time after which a checkpoint that is not complete is given up.',
    set: (draft, text) => {
      draft.checkpoints.timeoutMs = parseDuration(text)
    },
  },
  'execution.checkpointing.min-pause': {
    meaning: 'Least time between the end of a checkpoint and the next trigger.',
    set: (draft, text) => {
      draft.checkpoints.minPauseMs = parseDuration(text)
    },
  },
  'execution.checkpointing.tolerable-failed-checkpoints': {
    meaning: 'Failed checkpoints in a row that do not fail the job.',
    set: (draft, text) => {
      draft.checkpoints.tolerableFailures = parseCount(text, 0)
    },
  },
  'execution.checkpointing.num-retained': {
    meaning: 'Completed checkpoints that are kept.',
    set: (draft, text) => {
      draft.checkpoints.retained = parseCount(text, 1)
    },
  },
  'execution.checkpointing.dir': {
    meaning: 'Where checkpoints go.',
    set: (draft, text) => {
      draft.checkpoints.directory = text
    },
  },
  'execution.checkpointing.savepoint-dir': {
    meaning: 'Where savepoints go that name no folder.',
    set: (draft, text) => {
      draft.checkpoints.savepointDirectory = text
    },
  },
  'taskmanager.memory.segment-size': {
    meaning: 'Bytes at which a batch of records is sent.',
    set: (draft, text) => {
      draft.network.batchBytes = parseSize(text)
    },
  },
  'taskmanager.network.memory.buffers-per-channel': {
    meaning: 'Batches of a channel that may be under way.',
    set: (draft, text) => {
      draft.network.credits = parseCount(text, 1)
    },
  },
  'execution.buffer-timeout.interval': {
    meaning: 'Longest time that a record waits for its batch to fill.',
    set: (draft, text) => {
      draft.network.bufferTimeoutMs = parseDuration(text)
    },
  },
  'heartbeat.interval': {
    meaning: 'Time between two questions whether a slot is alive.',
    set: (draft, text) => {
      draft.heartbeatIntervalMs = parseDuration(text)
    },
  },
  'heartbeat.timeout': {
    meaning: 'Silence after which a slot counts as lost.',
    set: (draft, text) => {
      draft.heartbeatTimeoutMs = parseDuration(text)
    },
  },
}

const RESTART_KEYS = {
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

/** Every key that `parseConfiguration` understands, with one sentence on each but the restart keys. */
export function configurationKeys(): readonly { readonly key: string; readonly meaning: string }[] {
  const options = Object.entries(OPTIONS).map(([key, { meaning }]) => ({ key, meaning }))
  const restart = Object.values(RESTART_KEYS).map((key) => ({
    key,
    meaning: 'How a failed job is started again; as in Flink.',
  }))
  return [...options, ...restart]
}

/**
 * Reads Flink's keys into a complete configuration; what is not said is taken from `base`. Throws
 * UNKNOWN_OPTION naming the nearest key, INVALID_ARGUMENT for a value out of range.
 */
export function parseConfiguration(
  map: ConfigurationMap,
  base: JobConfiguration = DEFAULT_JOB_CONFIGURATION,
): JobConfiguration {
  const draft: Draft = {
    ...base,
    checkpoints: { ...base.checkpoints },
    network: { ...base.network },
  }
  const restartKeys: readonly string[] = Object.values(RESTART_KEYS)
  for (const [key, text] of Object.entries(map)) {
    if (restartKeys.includes(key)) continue
    const option = Object.hasOwn(OPTIONS, key) ? OPTIONS[key] : undefined
    if (option === undefined) throw unknownKey(key)
    withKey(key, () => option.set(draft, text))
  }
  return { ...draft, restart: parseRestart(map, base.restart) }
}

function unknownKey(key: string): WeirError {
  const nearest = nearestWord(key, [...Object.keys(OPTIONS), ...Object.values(RESTART_KEYS)])
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return new WeirError('UNKNOWN_OPTION', `the configuration key "${key}" is not known${hint}`, {
    details: { key, ...(nearest === undefined ? {} : { nearest }) },
  })
}

function withKey<T>(key: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    const sentence = cause instanceof Error ? cause.message : String(cause)
    throw new WeirError('INVALID_ARGUMENT', `${key}: ${sentence}`, { cause, details: { key } })
  }
}

/**
 * How the job is started again: as configured, otherwise as in Flink. Without periodic checkpoints a
 * restart would begin from nothing, so that there is none.
 */
export function restartStrategyOf(configuration: JobConfiguration): RestartStrategyOptions {
  const { restart, checkpoints } = configuration
  const periodic = checkpoints.intervalMs !== undefined && checkpoints.directory !== undefined
  return restart ?? (periodic ? EXPONENTIAL_DELAY : { type: 'none' })
}

function parseRestart(
  map: ConfigurationMap,
  base: RestartStrategyOptions | undefined,
): RestartStrategyOptions | undefined {
  const ownKeys = Object.keys(map).some((key) => key.startsWith('restart-strategy.'))
  if (!ownKeys) return base
  const read = <T>(key: string, parse: (text: string) => T, fallback: T): T => {
    const text = map[key]
    return text === undefined ? fallback : withKey(key, () => parse(text))
  }
  const type = read(
    RESTART_KEYS.type,
    (text) => parseWord(text, STRATEGIES),
    base?.type ?? typeMeant(map),
  )
  const of = <Type extends RestartStrategyOptions['type']>(
    wanted: Type,
  ): Partial<Extract<RestartStrategyOptions, { type: Type }>> =>
    base?.type === wanted ? (base as Extract<RestartStrategyOptions, { type: Type }>) : {}
  switch (type) {
    case 'fixed-delay': {
      const from = of('fixed-delay')
      return {
        type,
        attempts: read(RESTART_KEYS.fixedAttempts, (t) => parseCount(t, 0), from.attempts ?? 1),
        delayMs: read(RESTART_KEYS.fixedDelay, parseDuration, from.delayMs ?? 1000),
      }
    }
    case 'failure-rate': {
      const from = of('failure-rate')
      return {
        type,
        maxFailuresPerInterval: read(
          RESTART_KEYS.rateFailures,
          (t) => parseCount(t, 1),
          from.maxFailuresPerInterval ?? 1,
        ),
        failureRateIntervalMs: read(
          RESTART_KEYS.rateInterval,
          parseDuration,
          from.failureRateIntervalMs ?? 60_000,
        ),
        delayMs: read(RESTART_KEYS.rateDelay, parseDuration, from.delayMs ?? 1000),
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
    initialBackoffMs: read(RESTART_KEYS.initialBackoff, parseDuration, from.initialBackoffMs),
    maxBackoffMs: read(RESTART_KEYS.maxBackoff, parseDuration, from.maxBackoffMs),
    backoffMultiplier: read(RESTART_KEYS.multiplier, factor, from.backoffMultiplier),
    resetBackoffThresholdMs: read(RESTART_KEYS.reset, parseDuration, from.resetBackoffThresholdMs),
    jitterFactor: read(RESTART_KEYS.jitter, (t) => parseNumber(t, 0, 1), from.jitterFactor),
    attemptsBeforeResetBackoff: read(
      RESTART_KEYS.resetAttempts,
      (t) => (t.trim().toLowerCase() === 'infinite' ? Infinity : parseCount(t, 0)),
      from.attemptsBeforeResetBackoff,
    ),
  }
}

/** The strategy whose keys are given where no type is: to ignore them in silence helps nobody. */
function typeMeant(map: ConfigurationMap): string {
  const meant = STRATEGIES.find((type) =>
    Object.keys(map).some((key) => key.startsWith(`restart-strategy.${type}.`)),
  )
  return meant ?? 'none'
}
