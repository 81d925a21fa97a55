import type { CheckpointMode } from '../checkpoint/protocol/checkpoint-types.ts'
import { WeirError } from '../core/errors.ts'
import { nearestWord } from '../core/nearest-word.ts'
import { type PortRange, parsePortRange } from '../core/port-range.ts'
import type { StateStoreType } from '../state/state-store.ts'
import { parseCount, parseDuration, parseSize, parseWord, withKey } from './configuration-values.ts'
import { parseRestartConfiguration, RESTART_CONFIGURATION_KEYS } from './restart-configuration.ts'
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
  /** Ports that query threads choose from; undefined lets the system choose. */
  readonly queryPorts: PortRange | undefined
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
  queryPorts: undefined,
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
  'queryable-state.server.ports': {
    meaning:
      "Ports of the query threads, as in 9070-9079; the system's choice when missing. Clients connect to them from the bootstrap port's answer.",
    set: (draft, text) => {
      draft.queryPorts = parsePortRange(text)
    },
  },
}

/** Every key that `parseConfiguration` understands, with one sentence on each but the restart keys. */
export function configurationKeys(): readonly { readonly key: string; readonly meaning: string }[] {
  const options = Object.entries(OPTIONS).map(([key, { meaning }]) => ({ key, meaning }))
  const restart = RESTART_CONFIGURATION_KEYS.map((key) => ({
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
  for (const [key, text] of Object.entries(map)) {
    if (RESTART_CONFIGURATION_KEYS.includes(key)) continue
    const option = Object.hasOwn(OPTIONS, key) ? OPTIONS[key] : undefined
    if (option === undefined) throw unknownKey(key)
    withKey(key, () => option.set(draft, text))
  }
  return { ...draft, restart: parseRestartConfiguration(map, base.restart) }
}

function unknownKey(key: string): WeirError {
  const nearest = nearestWord(key, [...Object.keys(OPTIONS), ...RESTART_CONFIGURATION_KEYS])
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return new WeirError('UNKNOWN_OPTION', `the configuration key "${key}" is not known${hint}`, {
    details: { key, ...(nearest === undefined ? {} : { nearest }) },
  })
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
