import { type NexmarkEvent, nexmarkEvent } from '../../../benchmarks/streams/nexmark-events.ts'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import type { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'

/** The first `count` events of Nexmark, dealt to as many partitions as there are subtasks. */
export function nexmarkStream(
  env: StreamExecutionEnvironment,
  count: number,
  parallelism: number,
): DataStream<NexmarkEvent> {
  const source = new GeneratorSource<NexmarkEvent>({
    partitions: parallelism,
    countPerPartition: count / parallelism,
    generate: (index, partition) => nexmarkEvent(index * parallelism + partition),
  })
  const timestampOf = ({ person, auction, bid }: NexmarkEvent): number =>
    (bid ?? auction ?? person!).dateTime
  return env.fromSource(source, boundedOutOfOrderness(4000, { timestampOf }))
}
