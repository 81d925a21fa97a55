import { type NexmarkEvent, nexmarkEvent } from '../../../benchmarks/streams/nexmark-events.ts'
import type { NexmarkQuery } from '../../../benchmarks/streams/nexmark-queries.ts'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import type { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'

/** All queries but q12, whose windows follow the wall clock. */
export const COMPARED = [
  'q3',
  'q4',
  'q5',
  'q7',
  'q8',
  'q9',
  'q11',
  'q17',
  'q18',
  'q19',
  'q20',
] as const satisfies readonly NexmarkQuery[]

/** A query whose rows are compared with Flink's. */
export type Compared = (typeof COMPARED)[number]

/** The first `count` events of Nexmark, dealt to some partitions. */
export function nexmarkStream(
  env: StreamExecutionEnvironment,
  count: number,
  partitions: number,
  ratePerSecond: number,
): DataStream<NexmarkEvent> {
  const source = new GeneratorSource<NexmarkEvent>({
    partitions,
    countPerPartition: count / partitions,
    ratePerSecond,
    generate: (index, partition) => nexmarkEvent(index * partitions + partition),
  })
  const timestampOf = ({ person, auction, bid }: NexmarkEvent): number =>
    (bid ?? auction ?? person!).dateTime
  return env
    .fromSource(source, boundedOutOfOrderness(4000, { timestampOf }), 'events')
    .uid('events')
}
