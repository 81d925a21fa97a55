import { appendFileSync } from 'node:fs'
import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { systemClock } from '../../src/core/clock.ts'
import { defineJob } from '../../src/dataflow/job/definition.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import { type NexmarkEvent, nexmarkEvent } from './nexmark-events.ts'
import { type NexmarkQuery, nexmarkRows } from './nexmark-queries.ts'

/** Events of a partition between two looks at the clock. */
const LOOK_EVERY = 4096
/** Time between two samples of a partition, ms. One takes half a millisecond: each 16,384 events they took 4 % of q8. */
const SAMPLE_MS = 100

/** Options of the job. */
export interface NexmarkJobOptions extends Readonly<Record<string, unknown>> {
  readonly query: NexmarkQuery
  readonly partitions: number
  /** See `nexmarkEvent`. */
  readonly spread: number
  /** File to which the source writes samples, one JSON object a line. */
  readonly samples: string
}

/** How far a partition was read, and what the process had used by then. */
export interface NexmarkSample {
  readonly partition: number
  readonly events: number
  /** Monotonic, ms. */
  readonly timeMs: number
  /** Of the whole process, s. */
  readonly cpuSeconds: number
}

/** A query of Nexmark, on events from a generator without end, into nothing. */
export default defineJob<NexmarkJobOptions>({
  name: 'nexmark',
  build(env, { query, partitions, spread, samples }) {
    const sampledAt = new Map<number, number>()
    const sample = (partition: number, events: number): void => {
      const timeMs = systemClock.monotonicMs()
      if (timeMs - (sampledAt.get(partition) ?? Number.NEGATIVE_INFINITY) < SAMPLE_MS) return
      sampledAt.set(partition, timeMs)
      const { user, system } = process.cpuUsage()
      const line: NexmarkSample = {
        partition,
        events,
        timeMs,
        cpuSeconds: (user + system) / 1e6,
      }
      appendFileSync(samples, `${JSON.stringify(line)}\n`)
    }
    const source = new GeneratorSource<NexmarkEvent>({
      partitions,
      generate: (index, partition) => {
        if (index % LOOK_EVERY === 0) sample(partition, index)
        return nexmarkEvent(index * partitions + partition, spread)
      },
    })
    const timestampOf = ({ person, auction, bid }: NexmarkEvent): number =>
      (bid ?? auction ?? person!).dateTime
    const events = env.fromSource(source, boundedOutOfOrderness(4000, { timestampOf }), 'events')
    nexmarkRows(query, events).discard()
  },
})
