import type { KafkaClientOptions } from '../connectors/kafka/kafka-options.ts'
import { LogSink, type RecordSerializer } from '../connectors/log/log-sink.ts'
import type { TopicsPlace } from '../connectors/topics/open-topics.ts'
import { DeltaBuffer } from '../models/delta-buffer.ts'
import type { DeliveryGuarantee, Sink } from '../operators/sink.ts'
import type { OutgoingDelta } from './online-delta-sender.ts'
import type { RefusedRating } from './online-records.ts'

/** How records are written to a topic of either place. */
export interface TopicSinkOptions<T> {
  readonly topic: string
  readonly serialize: RecordSerializer<T>
  readonly guarantee: DeliveryGuarantee
  /** A record waits for others at most this long. */
  readonly lingerMs: number
}

/** A sink of a topic, of the embedded log or of Kafka, whose client is loaded only then. */
export async function topicSink<T>(
  { logDirectory, kafka }: TopicsPlace,
  options: TopicSinkOptions<T>,
): Promise<Sink<T>> {
  if (logDirectory !== undefined) return new LogSink({ directory: logDirectory, ...options })
  const { KafkaSink } = await import('../connectors/kafka/kafka-sink.ts')
  return new KafkaSink({ ...(kafka as KafkaClientOptions), ...options })
}

/** Key `<id>-I@<version>`, value as `models/model-delta.ts` draws it. */
export function deltaSerializer(
  kind: 'step' | 'gram',
  floats: number,
): RecordSerializer<OutgoingDelta> {
  const buffer = new DeltaBuffer(kind, floats)
  const key = new Uint8Array(64)
  // A new view for every delta would be garbage.
  const keys = Array.from({ length: key.length + 1 }, (_, length) => key.subarray(0, length))
  let version = -1
  let suffix: Uint8Array = new Uint8Array(0)
  return (delta, record) => {
    if (delta.version !== version) {
      version = delta.version
      suffix = new TextEncoder().encode(`@${version}`)
    }
    const { bytes, start, length } = delta.key
    for (let i = 0; i < length; i++) key[i] = bytes[start + i]!
    key.set(suffix, length)
    buffer.origin(delta.lane, delta.partition, delta.offset)
    buffer.values.set(delta.values)
    record.key = keys[length + suffix.length]!
    record.value = buffer.bytes
  }
}

/** The refused record as it was; headers `reason`, `partition` and `offset` say where it stood. */
export function refusedSerializer(): RecordSerializer<RefusedRating> {
  const encoder = new TextEncoder()
  return (refused, record) => {
    const header = (key: string): { key: string; value: Uint8Array } => {
      const text = String(refused[key as keyof RefusedRating])
      return { key, value: encoder.encode(text) }
    }
    record.value = refused.value
    record.headers = [header('reason'), header('partition'), header('offset')]
  }
}
