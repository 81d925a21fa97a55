import { join } from 'node:path'
import { nexmarkRows } from '../../../benchmarks/streams/nexmark-queries.ts'
import { LineFileSink } from '../../../src/connectors/file/sink.ts'
import { defineJob } from '../../../src/dataflow/job/definition.ts'
import { type Compared, nexmarkStream } from './nexmark-stream.ts'

/** Options of the job. */
export interface NexmarkRowsOptions extends Readonly<Record<string, unknown>> {
  readonly queries: readonly Compared[]
  readonly events: number
  readonly partitions: number
  readonly ratePerSecond: number
  /** Folder with a folder of results for each query. */
  readonly output: string
}

/** Queries of Nexmark on one stream of events; each row goes to a file of its query, exactly once. */
export default defineJob<NexmarkRowsOptions>({
  name: 'nexmark-rows',
  build(env, { queries, events, partitions, ratePerSecond, output }) {
    const stream = nexmarkStream(env, events, partitions, ratePerSecond)
    for (const query of queries) {
      nexmarkRows(query, stream)
        .sinkTo(
          new LineFileSink<object>({
            directory: join(output, query),
            format: (row) => Object.values(row).join(','),
          }),
        )
        .uid(`rows-of-${query}`)
    }
  },
})
