import type { TopicStore } from '../connectors/topics/topic-store.ts'
import type { DataStream } from '../dataflow/data-stream.ts'
import type { StreamExecutionEnvironment } from '../dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../dataflow/watermark-strategy.ts'
import type { ModelTopicRecord } from './model-topic-record.ts'

/** How often a job looks for new partitions. */
const DISCOVERY_MS = 10_000

/** Which topic is read, and what its source is called. */
export interface TopicRecordsOptions {
  readonly topic: string
  readonly name: string
  readonly uid: string
}

/**
 * The records of a topic where they lie, each valid until the next one: whoever reads the stream
 * encodes or copies it within the same call.
 */
export function topicRecords(
  env: StreamExecutionEnvironment,
  topics: TopicStore,
  { topic, name, uid }: TopicRecordsOptions,
): DataStream<ModelTopicRecord> {
  const source = topics.source<ModelTopicRecord>({
    topic,
    discoveryIntervalMs: DISCOVERY_MS,
    deserialize: (record) => record,
  })
  return env.fromSource(source, noWatermarks<ModelTopicRecord>(), name).uid(uid)
}
