import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job/definition.ts'
import type { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'

/** Options of the job: which one it is, and its broker. */
export interface TablesJobOptions extends Readonly<Record<string, unknown>> {
  readonly kind: 'join'
  readonly brokers: string
}

/** Topic of the rows that others are joined with. */
export const ROWS = 'rows'
/** Topic of the records, or of the rows that change. */
export const STREAM = 'stream'
/** Uid of the operator that gets all results. */
export const RESULTS_UID = 'results'
/** Uid of the operator that gets the records without a row. */
export const UNMATCHED_UID = 'unmatched'

interface KeyedText {
  readonly key: string
  readonly value: string
}

const decoder = new TextDecoder()

function topic(brokers: string, name: string): KafkaSource<KeyedText> {
  return new KafkaSource<KeyedText>({
    brokers,
    topic: name,
    deserialize: (record) => ({
      key: decoder.decode(record.key()!),
      value: decoder.decode(record.value()!),
    }),
  })
}

function discard<T>(results: DataStream<T>, uid: string): void {
  results
    .filter(() => false)
    .uid(uid)
    .discard()
}

function join(env: StreamExecutionEnvironment, { brokers }: TablesJobOptions): void {
  const options = { keyOf: ({ key }: KeyedText) => key, rowOf: ({ value }: KeyedText) => value }
  const rows = env.table(topic(brokers, ROWS), options).uid('rows')
  const joined = env
    .fromSource(topic(brokers, STREAM), noWatermarks<KeyedText>(), 'stream')
    .uid('stream')
    .joinTable(
      rows,
      ({ key }) => key,
      ({ value }, row) => ({ text: `${value}${row}`, found: row !== undefined }),
      { type: 'left' },
    )
    .uid('join')
  discard(joined, RESULTS_UID)
  discard(
    joined.filter(({ found }) => !found),
    UNMATCHED_UID,
  )
}

/** The jobs of the benchmarks of tables. */
const tablesJobs: JobDefinition<TablesJobOptions> = defineJob<TablesJobOptions>({
  name: 'tables-benchmark',
  build(env, options) {
    const builders = { join }
    builders[options.kind](env, options)
  },
})

export default tablesJobs
