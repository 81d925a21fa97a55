import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import {
  containsKeyGroup,
  type KeyGroupRange,
  keyGroupOf,
  keyGroupOfHash,
} from '../../core/key-group.ts'
import type { Serializer } from '../../core/serializer.ts'
import { describeKey } from '../../core/text/describe-key.ts'
import type { Partitioning, StreamNode } from '../../dataflow/stream-graph.ts'
import type { OutputChannel } from '../channel/output.ts'
import { blameKeySelector } from './operator-failure.ts'
import type { RecordOutput } from './record-output.ts'
import { ValueAppender } from './value-appender.ts'

/** Options of an output to the subtask's own keys. */
export interface OwnKeysOutputOptions {
  readonly partitioning: HashPartitioning
  readonly serializer: Serializer<unknown>
  readonly maxParallelism: number
  /** The operator that has the keys, for messages. */
  readonly receiver: StreamNode
  /** Key groups of the subtask. */
  readonly range: KeyGroupRange
  readonly channel: OutputChannel
}

type HashPartitioning = Extract<Partitioning, { readonly kind: 'hash' }>

/**
 * Output to the subtask itself, for a stream that is declared to be partitioned by key already. Throws
 * WRONG_PARTITIONING for a record whose key group belongs to another subtask.
 */
export class OwnKeysOutput implements RecordOutput {
  private readonly partitioning: HashPartitioning
  private readonly values: ValueAppender
  private readonly maxParallelism: number
  private readonly range: KeyGroupRange
  private readonly channel: OutputChannel
  private readonly receiver: StreamNode
  private readonly key = new ByteWriter(64)

  constructor(options: OwnKeysOutputOptions) {
    const { partitioning, serializer, maxParallelism, range, channel } = options
    this.partitioning = partitioning
    this.receiver = options.receiver
    this.values = new ValueAppender(serializer)
    this.maxParallelism = maxParallelism
    this.range = range
    this.channel = channel
  }

  collect(value: unknown, timestamp: number): void {
    const { key, partitioning } = this
    key.length = 0
    let selected: unknown
    try {
      selected = partitioning.keySelector(value)
      partitioning.keySerializer.write(selected, key)
    } catch (error) {
      throw blameKeySelector(error, this.receiver, 'reinterpretAsKeyedStream')
    }
    const group = keyGroupOfHash(murmur3(key.bytes, 0, key.length), this.maxParallelism)
    if (!containsKeyGroup(this.range, group)) throw this.misplaced(selected, key.toBytes())
    this.values.append(this.channel, key.bytes, key.length, value, timestamp)
  }

  private misplaced(selected: unknown, key: Uint8Array): WeirError {
    const { range, maxParallelism } = this
    const group = keyGroupOf(key, maxParallelism)
    return new WeirError(
      'WRONG_PARTITIONING',
      `the key ${describeKey(selected, key)} is in key group ${group} of ${maxParallelism}, but this subtask owns ${range.first} to ${range.last}: the stream is not partitioned by this key and key group (a KafkaSink with partitioner { keyGroups: ${maxParallelism} } writes such a topic, a KafkaSource with assignment 'key-groups' reads it); call keyBy instead of reinterpretAsKeyedStream`,
      { details: { keyGroup: group } },
    )
  }
}
