import type { TopicStore } from '../../connectors/topics/store.ts'
import type { DataStream } from '../../dataflow/data-stream.ts'
import type { StreamExecutionEnvironment } from '../../dataflow/stream-execution-environment.ts'
import type { ReturnPath } from '../../dataflow/stream-graph.ts'
import { noWatermarks } from '../../dataflow/watermark-strategy.ts'
import type { ModelTopicRecord } from './record.ts'

/** Time between two looks for new partitions. */
const DISCOVERY_MS = 10_000

/** Options of `topicRecords`: the topic, and name and uid of its source. */
export interface TopicRecordsOptions {
  readonly topic: string
  readonly name: string
  readonly uid: string
  /** By partition, where a job without a checkpoint begins. @default at the start of the topic */
  readonly from?: readonly number[] | undefined
  /** As in `SourceOptions`. */
  readonly returnsThrough?: ReturnPath
}

/**
 * The records of a topic in the bytes of their batches, each valid until the next one: the next operator
 * encodes or copies it within the same call.
 */
export function topicRecords(
  env: StreamExecutionEnvironment,
  topics: TopicStore,
  { topic, name, uid, from, returnsThrough }: TopicRecordsOptions,
): DataStream<ModelTopicRecord> {
  const source = topics.source<ModelTopicRecord>({
    topic,
    ...(from === undefined ? {} : { start: { offsets: { ...from } } }),
    discoveryIntervalMs: DISCOVERY_MS,
    deserialize: (record) => record,
  })
  const options = returnsThrough === undefined ? {} : { returnsThrough }
  return env.fromSource(source, noWatermarks<ModelTopicRecord>(), name, options).uid(uid)
}
