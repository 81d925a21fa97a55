import type { KafkaClientOptions } from '../../../connectors/kafka/client/options.ts'
import { KafkaSink } from '../../../connectors/kafka/sink.ts'
import { KafkaSource } from '../../../connectors/kafka/source.ts'
import { murmur3 } from '../../../core/hash/murmur3.ts'
import type { ExchangeRecord } from './exchange-receiver.ts'
import { exchangeDeserializer, exchangeSerializer } from './exchange-records.ts'
import type { ExchangeMessage } from './exchange-sender.ts'
import type { Exchange, ExchangeTopics } from './partition-graph.ts'
import { trimmedSource } from './trimmed-source.ts'

/** Where the exchange topics of a job are. */
export interface KafkaExchangeOptions {
  readonly kafka: KafkaClientOptions
  readonly applicationId: string
  /** Number of job partitions. */
  readonly partitions: number
  /** Checkpoints that a restart may restore: records that none of them needs are deleted. */
  readonly retained: number
}

/** Longest part of a topic's name that is taken as it is: Kafka takes 249 characters for the whole. */
const MOST_CHARACTERS = 100

/** Name of the topic of an exchange. What Kafka does not take in a name is replaced, with a hash, so that no two names become one. */
export function exchangeTopic(applicationId: string, exchange: Pick<Exchange, 'name'>): string {
  return `${inTopic(applicationId)}-${inTopic(exchange.name)}-repartition`
}

function inTopic(name: string): string {
  const taken = name.replace(/[^a-zA-Z0-9._-]/g, '_').slice(0, MOST_CHARACTERS)
  if (taken === name) return name
  return `${taken}-${murmur3(new TextEncoder().encode(name)).toString(16).padStart(8, '0')}`
}

/** The exchange topics of a job on Kafka: transactions write them, and only what is committed is read. */
export function kafkaExchanges(options: KafkaExchangeOptions): ExchangeTopics {
  const { kafka, applicationId, partitions, retained } = options
  return {
    sinkOf: (exchange) =>
      new KafkaSink<ExchangeMessage>({
        ...kafka,
        topic: exchangeTopic(applicationId, exchange),
        guarantee: 'exactly-once',
        transactionalIdPrefix: applicationId,
        serialize: exchangeSerializer(exchange),
      }),
    sourceOf: (exchange) => {
      const topic = exchangeTopic(applicationId, exchange)
      const deserialize = exchangeDeserializer(exchange, partitions)
      const source = new KafkaSource<ExchangeRecord>({
        ...kafka,
        topic,
        discoveryIntervalMs: 0,
        deserialize,
      })
      return trimmedSource({ source, kafka, topic, retained })
    },
  }
}
