import type { KafkaClientOptions } from '../../connectors/kafka/client/options.ts'
import { LogSink } from '../../connectors/log/sink.ts'
import type { RecordSerializer } from '../../connectors/records/outgoing-record.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import { TOPICS_PLACE } from '../../connectors/topics/place.ts'
import { aFunction, milliseconds, name, required } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { type DeliveryGuarantee, GUARANTEE, type Sink } from '../../operators/port/sink.ts'

/** How records are written to a topic. */
export interface TopicSinkOptions<T> {
  readonly topic: string
  readonly serialize: RecordSerializer<T>
  readonly guarantee: DeliveryGuarantee
  /** A record waits for others at most this long, ms. */
  readonly lingerMs: number
}

const TOPIC_SINK: OptionShape<TopicSinkOptions<unknown>> = {
  topic: required(name),
  serialize: required(aFunction()),
  guarantee: required(GUARANTEE),
  lingerMs: required(milliseconds),
}

/** A sink of a topic of the embedded log or of Kafka, whose client is loaded only then. */
export async function topicSink<T>(
  place: TopicsPlace,
  options: TopicSinkOptions<T>,
): Promise<Sink<T>> {
  checkArgument('topicSink', 'place', nested(TOPICS_PLACE), place)
  checkOptions('topicSink', TOPIC_SINK, options)
  const { logDirectory, kafka } = place
  if (logDirectory !== undefined) return new LogSink({ directory: logDirectory, ...options })
  const { KafkaSink } = await import('../../connectors/kafka/sink.ts')
  return new KafkaSink({ ...(kafka as KafkaClientOptions), ...options })
}
