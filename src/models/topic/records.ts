import type { TopicStore } from '../../connectors/topics/store.ts'
import { listOf, name, required, wholeNumber } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { DataStream } from '../../dataflow/data-stream.ts'
import type { StreamExecutionEnvironment } from '../../dataflow/stream-execution-environment.ts'
import { RETURN_PATH, type ReturnPath } from '../../dataflow/stream-graph.ts'
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

const TOPIC_RECORDS: OptionShape<TopicRecordsOptions> = {
  topic: required(name),
  name: required(name),
  uid: required(name),
  from: listOf(wholeNumber({ min: 0 })),
  returnsThrough: RETURN_PATH,
}

/**
 * The records of a topic in the bytes of their batches, each valid until the next one: the next operator
 * encodes or copies it within the same call.
 */
export function topicRecords(
  env: StreamExecutionEnvironment,
  topics: TopicStore,
  options: TopicRecordsOptions,
): DataStream<ModelTopicRecord> {
  checkOptions('topicRecords', TOPIC_RECORDS, options)
  const { topic, from, returnsThrough } = options
  const source = topics.source<ModelTopicRecord>({
    topic,
    ...(from === undefined ? {} : { start: { offsets: { ...from } } }),
    discoveryIntervalMs: DISCOVERY_MS,
    deserialize: (record) => record,
  })
  const path = returnsThrough === undefined ? {} : { returnsThrough }
  const records = env.fromSource(source, noWatermarks<ModelTopicRecord>(), options.name, path)
  return records.uid(options.uid)
}
