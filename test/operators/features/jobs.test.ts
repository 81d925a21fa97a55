import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { count, lastN, sum } from '../../../src/operators/features/definition.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../../runtime/job-fixture.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { inWindow, type Purchase } from './plain-features.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const USERS = 40
const PARTITIONS = 2
const PER_PARTITION = 1_500

/** Users come from one partition each, so that the order of their events is the same in each run. */
const eventOf = (index: number, partition: number): Purchase => ({
  user: ((index * 7) % (USERS / PARTITIONS)) * PARTITIONS + partition,
  film: `f${(index * 13) % 17}`,
  price: (index * 31) % 101,
  // Half a year; each third event comes hours late.
  time: 19_700 * DAY + index * 3 * HOUR - (index % 3) * 5 * HOUR,
})

const definition = {
  clicks_24h: count().over('24h'),
  spent_30d: sum((event: Purchase) => event.price).over('30d'),
  last: lastN(3, (event: Purchase) => event.film).over('30d'),
}

function graphOf(
  sink: MemorySink<string>,
  ratePerSecond?: number,
  onIndex: (index: number) => void = () => {},
): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 2, maxParallelism: 16 })
  const source = new GeneratorSource<Purchase>({
    generate: (index, partition) => {
      onIndex(index)
      return eventOf(index, partition)
    },
    partitions: PARTITIONS,
    countPerPartition: PER_PARTITION,
    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
  })
  env
    .fromSource(source, boundedOutOfOrderness(DAY, { timestampOf: ({ time }) => time }))
    .uid('purchases')
    .keyBy(({ user }) => user)
    .features(definition)
    .uid('features')
    .join(({ user, time }, features) => JSON.stringify([user, time, features]))
    .sinkTo(sink)
    .uid('sink')
  return env.graph('features')
}

/** What a list of the events of each user gives. */
function expectedLines(): string[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => {
    const seen = new Map<number, Purchase[]>()
    return Array.from({ length: PER_PARTITION }, (_, index) => {
      const event = eventOf(index, partition)
      const { user, time, film } = event
      const before = seen.get(user) ?? []
      // An event that is late meets what has come, as of the newest one.
      const at = Math.max(time, ...before.map((one) => one.time))
      const features = {
        clicks_24h: inWindow(before, { windowMs: DAY, tiles: 60 }, at).length,
        spent_30d: inWindow(before, { windowMs: 30 * DAY, tiles: 60 }, at).reduce(
          (total, { price }) => total + price,
          0,
        ),
        last: before
          .filter((one) => one.time >= at - 30 * DAY)
          .map((one, order) => ({ ...one, order }))
          .toSorted((a, b) => b.time - a.time || b.order - a.order)
          .slice(0, 3)
          .map((one) => one.film),
      }
      seen.set(user, [...before, { ...event, film }])
      return JSON.stringify([user, time, features])
    })
  })
    .flat()
    .sort()
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('features beside the events of a stream', () => {
  it.each([
    ['heap', '64 mb'],
    ['rocksdb', '64 mb'],
    // Rows leave memory after each event, and come back.
    ['rocksdb', '1 kb'],
  ])(
    'are those of a list of the events, in the %s backend with %s of memory',
    async (type, budget) => {
      await using cluster = new MiniCluster({
        configuration: { 'state.backend.type': type, 'state.backend.memory.budget': budget },
      })
      const sink = new MemorySink<string>()
      await cluster.run(graphOf(sink))
      expect(sink.values.toSorted()).toEqual(expectedLines())
    },
  )

  it.each(['heap', 'rocksdb'])(
    'are the same when slots are killed, in the %s backend',
    async (type) => {
      using folder = checkpointFolder()
      await using cluster = new MiniCluster({
        configuration: {
          ...QUICK_RESTARTS,
          'state.backend.type': type,
          'execution.checkpointing.dir': folder.path,
          'execution.checkpointing.interval': '10 ms',
        },
      })
      const sink = new MemorySink<string>('exactly-once')
      let newest = 0
      const graph = graphOf(sink, PER_PARTITION * 2, (index) => {
        newest = Math.max(newest, index)
      })
      const job = cluster.startLocal(graph)
      const random = seededRandom(commitSeed())
      for (let kill = 0; kill < 3; kill++) {
        await job.waitFor('RUNNING')
        const turns = 20 + random.below(150)
        // A process that stands still meanwhile has few turns left: the first kill is before the job's end in any case.
        const isEarly = (): boolean => kill > 0 || newest < PER_PARTITION / 2
        for (let i = 0; i < turns && isEarly() && job.status === 'RUNNING'; i++) await turn()
        if (job.status !== 'RUNNING') break
        job.killSlot(random.below(2))
        while (job.status === 'RUNNING') await turn()
        // The slot had already ended.
        if (job.status === 'FINISHED') break
      }
      await job.result
      expect(job.attempt).toBeGreaterThan(1)
      expect(sink.values.toSorted()).toEqual(expectedLines())
    },
  )
})

describe('a stream of features', () => {
  const keyed = () =>
    new StreamExecutionEnvironment()
      .fromElements([{ user: 1, film: 'f', price: 1, time: 1 } as Purchase])
      .keyBy(({ user }) => user)

  it('says how large a row can be', () => {
    const { mostBytesOfRow } = keyed().features({ clicks: count().over('1h') }, { tiles: 60 })
    // A header of 20 bytes, and 61 tiles of 12.
    expect(mostBytesOfRow).toBe(20 + 61 * 12)
  })

  it('needs watermarks', () => {
    const env = new StreamExecutionEnvironment()
    env
      .fromElements([1])
      .keyBy((n) => n)
      .features({ clicks: count().over('1h') })
      .asQueryableState('numbers')
    expect(() => env.graph()).toThrow('not all of its inputs have watermarks')
  })

  it('is queried under one name and joined once', () => {
    const features = keyed().features({ clicks: count().over('1h') })
    features.asQueryableState('users')
    expect(() => features.asQueryableState('others')).toThrow(
      'asQueryableState(...) of operator "Features" is called twice',
    )
    features.join((event) => event)
    expect(() => features.join((event) => event)).toThrow('use what the first call gave')
  })

  it('has a vector of numbers alone', () => {
    const features = keyed().features({
      last: lastN(2, (event: Purchase) => event.film).over('1h'),
    })
    expect(() => features.asQueryableState('users', { as: 'vector' })).toThrow(
      'feature "last" is a lastN, which is no number',
    )
  })
})
