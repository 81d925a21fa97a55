import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job/definition.ts'
import type { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'

/** Options of the job: which one it is, and its broker. */
export interface TablesJobOptions extends Readonly<Record<string, unknown>> {
  readonly kind: 'join' | 'foreign-key' | 'retract'
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

const ROW = { keyOf: ({ key }: KeyedText) => key, rowOf: ({ value }: KeyedText) => value }

function join(env: StreamExecutionEnvironment, { brokers }: TablesJobOptions): void {
  const rows = env.table(topic(brokers, ROWS), ROW).uid('rows')
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

function foreignKey(env: StreamExecutionEnvironment, { brokers }: TablesJobOptions): void {
  const rows = env.table(topic(brokers, ROWS), ROW).uid('rows')
  const joined = env
    .table(topic(brokers, STREAM), ROW)
    .uid('stream')
    .joinByForeignKey(
      rows,
      (value) => value.slice(0, 9),
      (value, row) => `${value}${row}`,
    )
    .uid('joined')
  discard(joined.toStream(), RESULTS_UID)
}

function retract(env: StreamExecutionEnvironment, { brokers }: TablesJobOptions): void {
  env
    .table(topic(brokers, STREAM), ROW)
    .uid(RESULTS_UID)
    .groupBy((value) => [value.slice(0, 5), 1])
    .count()
    .uid('counts')
    .toStream()
    .discard()
}

/** The jobs of the benchmarks of tables. */
const tablesJobs: JobDefinition<TablesJobOptions> = defineJob<TablesJobOptions>({
  name: 'tables-benchmark',
  build(env, options) {
    const builders = { join, 'foreign-key': foreignKey, retract }
    builders[options.kind](env, options)
  },
})

export default tablesJobs
