import { WeirError } from '../../core/errors.ts'
import type { JobConfiguration } from './configuration.ts'
import { durationText } from './value-types.ts'

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
    keys: ['pipeline.max-parallelism', 'parallelism.default'],
    problem: ({ maxParallelism, parallelism }) =>
      (maxParallelism ?? parallelism) >= parallelism
        ? undefined
        : `pipeline.max-parallelism (${maxParallelism}) must be at least parallelism.default (${parallelism})`,
  },
  {
    keys: [
      'restart-strategy.exponential-delay.max-backoff',
      'restart-strategy.exponential-delay.initial-backoff',
    ],
    problem: ({ restart }) =>
      restart?.type !== 'exponential-delay' || restart.maxBackoffMs >= restart.initialBackoffMs
        ? undefined
        : `restart-strategy.exponential-delay.max-backoff (${durationText(restart.maxBackoffMs)}) must be at least initial-backoff (${durationText(restart.initialBackoffMs)})`,
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
        : `queryable-state.server.max-connections-per-address (${maxConnectionsPerAddress}) must be at most max-connections (${maxConnections})`,
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
