import { requireFunction } from './checks/function-argument.ts'
import { FUNCTION_USES } from './checks/function-uses.ts'
import type { DataStream } from './data-stream.ts'
import { labelOf, type StreamOrigin } from './graph-draft.ts'
import { NodeSettingsBase } from './node-settings.ts'
import type { StreamFactory } from './stream-factory.ts'
import type { Partitioning } from './stream-graph.ts'

/** A stream whose records go to subtasks by a rule: the base of `DataStream`. */
export abstract class PartitionedStream<T> extends NodeSettingsBase {
  protected readonly factory: StreamFactory
  /** For the classes of this folder. */
  readonly origins: readonly StreamOrigin[]
  /** The type of the records, for the compiler only. */
  declare readonly recordType: T

  /** For the classes of this folder; jobs get streams from an environment. */
  constructor(factory: StreamFactory, origins: readonly StreamOrigin[]) {
    super(origins)
    this.factory = factory
    this.origins = origins
  }

  /** Spreads the records evenly over the subtasks of the next operator. */
  rebalance(): DataStream<T> {
    return this.partitioned({ kind: 'rebalance' })
  }

  /**
   * As `rebalance`, but each subtask sends only to its share of the next operator's: with 2 subtasks before 4, to
   * two of them, and with 4 before 2, to one.
   */
  rescale(): DataStream<T> {
    return this.partitioned({ kind: 'rescale' })
  }

  /** Sends each record to a random subtask of the next operator. */
  shuffle(): DataStream<T> {
    return this.partitioned({ kind: 'shuffle' })
  }

  /** Sends all records to the first subtask of the next operator. */
  global(): DataStream<T> {
    return this.partitioned({ kind: 'global' })
  }

  /**
   * Sends each record to the subtask of the next operator whose number, from 0 to `partitions` - 1, the function
   * returns for the record's key. Another number fails the job with INVALID_ARGUMENT. There is no keyed state.
   */
  partitionCustom<K>(
    partitioner: (key: K, partitions: number) => number,
    keySelector: (value: T) => K,
  ): DataStream<T> {
    const use = { ...FUNCTION_USES.partitionCustom, operator: labelOf(this.origins) }
    requireFunction(partitioner, use)
    requireFunction(keySelector, use)
    const partition = (value: unknown, receivers: number): number =>
      partitioner(keySelector(value as T), receivers)
    return this.partitioned({ kind: 'custom', partition })
  }

  /** Keeps the records in the subtask of the same number. */
  forward(): DataStream<T> {
    return this.partitioned({ kind: 'forward' })
  }

  protected partitioned(partitioning: Partitioning): DataStream<T> {
    return this.factory.stream(this.origins.map((origin) => ({ ...origin, partitioning })))
  }
}
