import { ByteWriter } from '../core/byte-writer.ts'
import { WeirError } from '../core/errors.ts'
import { containsKeyGroup, type KeyGroupRange, keyGroupOf } from '../core/key-group.ts'
import { murmur3 } from '../core/murmur3.ts'
import type { Serializer } from '../core/serializer.ts'
import type { Partitioning } from '../dataflow/stream-graph.ts'
import type { OutputChannel } from './output-channel.ts'
import type { RecordOutput } from './record-output.ts'

type HashPartitioning = Extract<Partitioning, { readonly kind: 'hash' }>

/**
 * The subtask itself, for records that are said to be with the owner of their key already. One whose
 * key group is another subtask's throws WRONG_PARTITIONING.
 */
export class OwnKeysOutput implements RecordOutput {
  private readonly partitioning: HashPartitioning
  private readonly serializer: Serializer<unknown>
  private readonly maxParallelism: number
  private readonly range: KeyGroupRange
  private readonly channel: OutputChannel
  private readonly key = new ByteWriter(64)
  private readonly value = new ByteWriter(1024)

  constructor(
    partitioning: HashPartitioning,
    serializer: Serializer<unknown>,
    maxParallelism: number,
    range: KeyGroupRange,
    channel: OutputChannel,
  ) {
    this.partitioning = partitioning
    this.serializer = serializer
    this.maxParallelism = maxParallelism
    this.range = range
    this.channel = channel
  }

  collect(value: unknown, timestamp: number): void {
    const { key, value: bytes, partitioning } = this
    key.length = 0
    partitioning.keySerializer.write(partitioning.keySelector(value), key)
    const group = murmur3(key.bytes, 0, key.length) % this.maxParallelism
    if (!containsKeyGroup(this.range, group)) throw this.misplaced(key.toBytes())
    bytes.length = 0
    this.serializer.write(value, bytes)
    this.channel.append(key.bytes, key.length, bytes.bytes, bytes.length, timestamp)
  }

  private misplaced(key: Uint8Array): WeirError {
    const { range, maxParallelism } = this
    const group = keyGroupOf(key, maxParallelism)
    const text = new TextDecoder().decode(key.subarray(0, 60))
    return new WeirError(
      'WRONG_PARTITIONING',
      `the key "${text}" is of key group ${group} of ${maxParallelism}, but this subtask owns ${range.first} to ${range.last}: the stream is not partitioned by this key and key group (a KafkaSink with partitioner { keyGroups: ${maxParallelism} } writes such a topic, a KafkaSource with assignment 'key-groups' reads it); call keyBy instead of reinterpretAsKeyedStream`,
      { details: { keyGroup: group } },
    )
  }
}
