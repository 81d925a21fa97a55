import { WeirError } from '../../core/errors.ts'
import type { PortRange } from '../../core/port-range.ts'
import type { StateStoreType } from '../../state/store/state-store.ts'
import type { CheckpointMode } from '../checkpoint/protocol/checkpoint-types.ts'
import { EXPONENTIAL_DELAY, type RestartStrategyOptions } from './restart-strategy.ts'
import { durationText } from './value-types.ts'

/** How checkpoints are taken. */
export interface CheckpointConfiguration {
  /** Time between periodic checkpoints; undefined for none. */
  readonly intervalMs: number | undefined
  readonly mode: CheckpointMode
  /** Whether barriers may overtake records, so that a checkpoint does not wait for back-pressured operators. */
  readonly unaligned: boolean
  /** Time that an unaligned checkpoint tries to be aligned. */
  readonly alignedTimeoutMs: number
  readonly timeoutMs: number
  /** Most time of the last checkpoint of a process that a signal ends. */
  readonly shutdownTimeoutMs: number
  readonly minPauseMs: number
  readonly tolerableFailures: number
  readonly retained: number
  /**
   * Where checkpoints are stored, as `parseStorageUrl` reads it; undefined for a job without
   * checkpoints.
   */
  readonly directory: string | undefined
  readonly savepointDirectory: string | undefined
  /**
   * What the first attempt restores: the folder of a checkpoint or savepoint, or n for the n-th newest
   * checkpoint of the job; undefined for its last one.
   */
  readonly restoreFrom: string | number | undefined
  /** Whether `restoreFrom` counts only for a job that has no checkpoint of its own since `submittedMs`. */
  readonly restoreOnlyFirst: boolean
  /** When the job was submitted, ms since 1970; 0 if that does not matter. */
  readonly submittedMs: number
  /** Whether state that no operator of the job takes is dropped. */
  readonly allowNonRestoredState: boolean
  /** Whether the job is taken over from another process that runs it. */
  readonly takeOver: boolean
}

/** How records travel between chains. */
export interface NetworkConfiguration {
  /** Bytes at which a batch is sent. */
  readonly batchBytes: number
  /** Batches of a channel that may be on the way to the receiver or wait there. */
  readonly credits: number
  /** Longest time that a record waits for its batch to fill. */
  readonly bufferTimeoutMs: number
}

/** The configuration of one job: checked once, complete, plain data. */
export interface JobConfiguration {
  readonly parallelism: number
  /** Undefined: that of the restored checkpoint, otherwise Flink's default from the parallelism. */
  readonly maxParallelism: number | undefined
  readonly slots: number | undefined
  readonly autoWatermarkIntervalMs: number
  /** Whether operators without a uid get one. */
  readonly autoGenerateUids: boolean
  /** Whether keyed state gives functions its own objects, without copies. */
  readonly objectReuse: boolean
  readonly stateBackend: StateStoreType
  /** Bytes of keyed state that all slots together hold in memory. */
  readonly stateMemoryBytes: number
  /** Folder for spilled state; undefined uses the machine's folder for temporary files. */
  readonly stateDirectory: string | undefined
  readonly checkpoints: CheckpointConfiguration
  /** Whether sinks continue without restored transactions that the log or broker no longer knows. */
  readonly acceptLostTransactions: boolean
  /** Event-time timers that functions of a subtask may register after the end of its input. */
  readonly mostTimersAtEnd: number
  /** Undefined: see `restartStrategyOf`. */
  readonly restart: RestartStrategyOptions | undefined
  readonly network: NetworkConfiguration
  readonly heartbeatIntervalMs: number
  readonly heartbeatTimeoutMs: number
  /** Ports that query threads choose from; undefined lets the system choose. */
  readonly queryPorts: PortRange | undefined
  /** Files of the certificate of query servers; undefined without TLS. */
  readonly queryTls: ServerTlsConfiguration | undefined
  /** Limits of query servers; what is missing has the server's default. */
  readonly queryLimits: QueryLimitsConfiguration
  /** Copies of weights of each version of a linear model in each query thread; undefined: its default. */
  readonly hotWeights: number | undefined
  readonly rest: RestConfiguration
  /** Files of the certificate of the REST interface; undefined without TLS. */
  readonly restTls: ServerTlsConfiguration | undefined
  readonly scaleOut: ScaleOutConfiguration
}

/** How the processes of a job share it; what is missing has its default. */
export interface ScaleOutConfiguration {
  readonly applicationId?: string
  /** Where clients reach the query port of a process, `host:port`. */
  readonly applicationServer?: string
  readonly partitions?: number
  readonly sessionTimeoutMs?: number
  readonly groupHeartbeatMs?: number
  readonly groupInstanceId?: string
  readonly replicationFactor?: number
}

/** Files (PEM) of the TLS of a port. */
export interface ServerTlsConfiguration {
  readonly cert?: string
  readonly key?: string
  /** Certificates that sign those of clients. */
  readonly ca?: string
}

/** The REST interface of the process. */
export interface RestConfiguration {
  readonly isEnabled: boolean
  readonly address: string
  /** Ports to try in order; port 0 is any free one. Undefined: 8081, or one of the ports after it. */
  readonly ports: PortRange | undefined
  /** Lets it listen on any address without TLS and tokens; every start warns. */
  readonly isInsecureAllowed: boolean
}

/** Limits of what the clients of a query server may take (`QueryLimits`). */
export interface QueryLimitsConfiguration {
  readonly maxConnections?: number
  readonly maxConnectionsPerAddress?: number
  readonly maxDeadlineMs?: number
  readonly maxOutputBytes?: number
}

/** The default configuration. */
export const DEFAULT_JOB_CONFIGURATION: JobConfiguration = Object.freeze({
  parallelism: 1,
  maxParallelism: undefined,
  slots: undefined,
  autoWatermarkIntervalMs: 10,
  autoGenerateUids: true,
  objectReuse: false,
  stateBackend: 'rocksdb',
  stateMemoryBytes: 512 * 2 ** 20,
  stateDirectory: undefined,
  checkpoints: Object.freeze({
    intervalMs: undefined,
    mode: 'exactly-once',
    unaligned: false,
    alignedTimeoutMs: 0,
    timeoutMs: 600_000,
    shutdownTimeoutMs: 15_000,
    minPauseMs: 0,
    tolerableFailures: 0,
    retained: 3,
    directory: undefined,
    savepointDirectory: undefined,
    restoreFrom: undefined,
    restoreOnlyFirst: false,
    submittedMs: 0,
    allowNonRestoredState: false,
    takeOver: false,
  }),
  acceptLostTransactions: false,
  mostTimersAtEnd: 10_000_000,
  restart: undefined,
  network: Object.freeze({ batchBytes: 32 * 1024, credits: 4, bufferTimeoutMs: 1 }),
  heartbeatIntervalMs: 10_000,
  heartbeatTimeoutMs: 50_000,
  queryPorts: undefined,
  queryTls: undefined,
  queryLimits: Object.freeze({}),
  hotWeights: undefined,
  rest: Object.freeze({
    isEnabled: true,
    address: '127.0.0.1',
    ports: undefined,
    isInsecureAllowed: false,
  }),
  restTls: undefined,
  scaleOut: Object.freeze({}),
})

/**
 * Restart strategy of a job: as configured, otherwise as in Flink. By default a job without periodic
 * checkpoints is not restarted, because it would begin from nothing.
 */
export function restartStrategyOf(configuration: JobConfiguration): RestartStrategyOptions {
  const { restart, checkpoints } = configuration
  const periodic = checkpoints.intervalMs !== undefined && checkpoints.directory !== undefined
  return restart ?? (periodic ? EXPONENTIAL_DELAY : { type: 'none' })
}

/** Two keys whose values belong together. */
interface Relation {
  readonly keys: readonly [string, string]
  /** What is wrong, and a valid value; undefined where nothing is. */
  readonly problem: (configuration: JobConfiguration) => string | undefined
}

const RELATIONS: readonly Relation[] = [
  {
    keys: ['heartbeat.timeout', 'heartbeat.interval'],
    problem: ({ heartbeatTimeoutMs: timeout, heartbeatIntervalMs: interval }) =>
      timeout > interval
        ? undefined
        : `heartbeat.timeout (${durationText(timeout)}) must be above heartbeat.interval (${durationText(interval)}), or each slot counts as lost before it is asked; the nearest valid value is ${durationText(interval + 1)}`,
  },
  {
    keys: ['heartbeat.interval.ms', 'session.timeout.ms'],
    problem: ({ scaleOut: { groupHeartbeatMs = 0, sessionTimeoutMs = 10_000 } }) =>
      groupHeartbeatMs * 3 <= sessionTimeoutMs
        ? undefined
        : `heartbeat.interval.ms (${durationText(groupHeartbeatMs)}) must be at most a third of session.timeout.ms (${durationText(sessionTimeoutMs)}), or one lost sign of life moves all job partitions; the nearest valid value is ${durationText(Math.floor(sessionTimeoutMs / 3))}`,
  },
  {
    keys: ['pipeline.max-parallelism', 'parallelism.default'],
    problem: ({ maxParallelism, parallelism }) =>
      (maxParallelism ?? parallelism) >= parallelism
        ? undefined
        : `pipeline.max-parallelism (${maxParallelism}) must be at least parallelism.default (${parallelism}); the nearest valid value is ${parallelism}`,
  },
  {
    keys: [
      'restart-strategy.exponential-delay.max-backoff',
      'restart-strategy.exponential-delay.initial-backoff',
    ],
    problem: ({ restart }) =>
      restart?.type !== 'exponential-delay' || restart.maxBackoffMs >= restart.initialBackoffMs
        ? undefined
        : `restart-strategy.exponential-delay.max-backoff (${durationText(restart.maxBackoffMs)}) must be at least initial-backoff (${durationText(restart.initialBackoffMs)}); the nearest valid value is ${durationText(restart.initialBackoffMs)}`,
  },
  {
    keys: ['execution.checkpointing.unaligned.enabled', 'execution.checkpointing.mode'],
    problem: ({ checkpoints: { unaligned, mode } }) =>
      !unaligned || mode === 'exactly-once'
        ? undefined
        : 'execution.checkpointing.unaligned.enabled needs execution.checkpointing.mode exactly-once',
  },
  {
    keys: [
      'queryable-state.server.max-connections-per-address',
      'queryable-state.server.max-connections',
    ],
    problem: ({ queryLimits: { maxConnections = Infinity, maxConnectionsPerAddress = 1 } }) =>
      maxConnectionsPerAddress <= maxConnections
        ? undefined
        : `queryable-state.server.max-connections-per-address (${maxConnectionsPerAddress}) must be at most max-connections (${maxConnections}); the nearest valid value is ${maxConnections}`,
  },
]

/** Throws INVALID_ARGUMENT for values that contradict each other; `given` are the keys that were set. */
export function requireRelations(configuration: JobConfiguration, given: readonly string[]): void {
  for (const { keys, problem } of RELATIONS) {
    const sentence = problem(configuration)
    if (sentence === undefined) continue
    const key = keys.find((name) => given.includes(name)) ?? keys[0]
    throw new WeirError('INVALID_ARGUMENT', sentence, { details: { key } })
  }
}
