import { describe, expect, it } from 'vitest'
import { LogSource } from '../../../src/connectors/log/source.ts'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import type { TopicRecord } from '../../../src/connectors/records/topic-record.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { TableSourceOptions } from '../../../src/dataflow/stream-execution-environment.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import type { TableJoinOptions } from '../../../src/dataflow/tables/options.ts'
import {
  boundedOutOfOrderness,
  monotonousTimestamps,
} from '../../../src/dataflow/watermark-strategy.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { bytes, openLog, temporaryFolder, text } from '../../connectors/log/fixture.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../../runtime/job-fixture.ts'
import { commitSeed } from '../../services/commit-seed.ts'

/** An amount of a currency at a time, or its rate from that time on; a rate of 0 ends it. */
interface Money {
  readonly time: number
  readonly currency: string
  readonly value: number
}

const timestampOf = ({ time }: Money): number => time

const money = (clock: string, currency: string, value: number): Money => {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number)
  return { time: (hours * 60 + minutes) * 60_000, currency, value }
}

/** The example of Flink's documentation of temporal tables, with the rates in their order and the orders in theirs. */
const RATES = [
  money('09:00', 'US Dollar', 102),
  money('09:00', 'Euro', 114),
  money('09:00', 'Yen', 1),
  money('10:45', 'Euro', 116),
  money('11:15', 'Euro', 119),
  money('11:49', 'Pounds', 108),
]
const ORDERS = [
  money('10:15', 'Euro', 2),
  money('10:30', 'US Dollar', 1),
  money('10:32', 'Yen', 50),
  money('10:52', 'Euro', 3),
  money('11:04', 'US Dollar', 5),
]

const keyOf = ({ currency }: Money): string => currency
const rowOf = ({ value }: Money): number | null => (value === 0 ? null : value)

interface Joined {
  readonly rates?: readonly Money[]
  readonly orders?: readonly Money[]
  readonly table?: Pick<Partial<TableSourceOptions<Money, string, number>>, 'watermarks' | 'scope'>
  readonly join?: TableJoinOptions<Money>
}

function joined({ rates = RATES, orders = ORDERS, table, join }: Joined) {
  const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })
  const watermarks = boundedOutOfOrderness<Money>(60_000, { timestampOf })
  const rows = env.table<Money, string, number>(new MemorySource([rates]), {
    keyOf,
    rowOf,
    watermarks,
    ...table,
  })
  const stream = env
    .fromElements(orders, watermarks)
    .joinTable(
      rows,
      keyOf,
      ({ time, currency, value }, rate) => `${time / 60_000} ${value} ${currency}: ${rate * value}`,
      { wait: 'event-time', ...join, type: 'inner' },
    )
  return { env, stream }
}

async function resultsOf(given: Joined): Promise<string[]> {
  const { env, stream } = joined(given)
  const sink = new MemorySink<string>()
  stream.sinkTo(sink)
  await env.execute('orders')
  return [...sink.values].sort()
}

const EXPECTED = [
  '615 2 Euro: 228',
  '630 1 US Dollar: 102',
  '632 50 Yen: 50',
  '652 3 Euro: 348',
  '664 5 US Dollar: 510',
]

describe('a join with a table by event time', () => {
  it('gives each order of the documentation of Flink the rate of its time', async () => {
    expect(await resultsOf({})).toEqual(EXPECTED)
  })

  it('gives the same when rates and orders come in another order', async () => {
    const turned = { orders: ORDERS.toReversed(), rates: RATES.toReversed() }
    const watermarks = boundedOutOfOrderness<Money>(10_000_000, { timestampOf })
    const { env, stream } = joined({
      ...turned,
      table: { watermarks },
      join: { graceMs: 5_000_000 },
    })
    const sink = new MemorySink<string>()
    stream.sinkTo(sink)
    await env.execute('orders')
    expect([...sink.values].sort()).toEqual(EXPECTED)
  })

  it('finds no row before the first version and after a deletion', async () => {
    const rates = [...RATES, money('11:00', 'US Dollar', 0)].sort((a, b) => a.time - b.time)
    const orders = [money('08:59', 'Euro', 1), ...ORDERS, money('11:00', 'US Dollar', 7)]
    const inTime = orders.sort((a, b) => a.time - b.time)
    expect(await resultsOf({ rates, orders: inTime })).toEqual(EXPECTED.slice(0, 4))
  })

  it('sends a record behind the history to the side output', async () => {
    const late = new OutputTag<Money>('late')
    const orders = [money('10:52', 'Euro', 3), money('23:00', 'Yen', 1), money('10:15', 'Euro', 2)]
    const rates = [...RATES, money('23:30', 'Yen', 2), money('23:40', 'Yen', 2)]
    const watermarks = monotonousTimestamps<Money>({ timestampOf })
    const given = { orders, rates, table: { watermarks }, join: { lateRecords: late } }
    const { env, stream } = joined(given)
    const sides = new MemorySink<Money>()
    const results = new MemorySink<string>()
    stream.getSideOutput(late).sinkTo(sides)
    stream.sinkTo(results)
    await env.execute('orders')
    // Whether it is late depends on which input is read first: it is in one of both, and never wrong.
    expect(sides.values.length + results.values.length).toBe(3)
    expect(results.values).toContain('652 3 Euro: 348')
    for (const text of results.values) expect([...EXPECTED, '1380 1 Yen: 1']).toContain(text)
  })

  it('refuses a table without watermarks, one that all subtasks have, and times that do nothing', () => {
    const { env, stream } = joined({
      table: { watermarks: { ...monotonousTimestamps(), outOfOrdernessMs: undefined } },
    })
    stream.discard()
    expect(() => env.graph()).toThrow('not all of its inputs have watermarks')
    expect(() => joined({ table: { scope: 'global' } })).toThrow("scope: 'keyed'")
    expect(() => joined({ join: { wait: 'loaded', graceMs: 5 } })).toThrow('event-time')
    expect(() => joined({ join: { historyMs: -1 } })).toThrow('historyMs')
    expect(() => joined({ table: { watermarks: 5 as never } })).toThrow('watermark')
  })
})

const KEYS = 7
const COUNT = 3_000

const generated = (amountOf: (index: number) => number, ratePerSecond?: number) =>
  new GeneratorSource<Money>({
    generate: (index, partition) => ({
      time: index * 10 + ((index * 7) % 40),
      currency: `c${(index * 5 + partition) % KEYS}`,
      value: amountOf(index),
    }),
    partitions: 2,
    countPerPartition: COUNT / 2,
    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
  })

function graphOf(sink: MemorySink<string>, counts: MemorySink<number>, rate?: number): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 2, maxParallelism: 16 })
  const watermarks = boundedOutOfOrderness<Money>(50, { timestampOf })
  const table = env.table<Money, string, number>(
    generated((index) => (index % 5 === 0 ? 0 : index), rate),
    { keyOf, rowOf, watermarks },
  )
  const results = env
    .fromSource(
      generated((index) => index, rate),
      watermarks,
    )
    .joinTable(table, keyOf, ({ currency, value }, row) => `${currency} ${value} ${row}`, {
      wait: 'event-time',
      type: 'left',
      graceMs: 500,
    })
  results.sinkTo(sink)
  // No window drops a record: the watermark of the join is as far behind as its results.
  results
    .keyBy(() => 0)
    .window(tumblingEventTimeWindows(100))
    .aggregate({
      createAccumulator: () => 0,
      add: (_, n) => n + 1,
      getResult: (n) => n,
      merge: (a, b) => a + b,
    })
    .sinkTo(counts)
  return env.graph('rates')
}

/** Each record with the last change of its row up to its time; of changes of one time the last one of the source. */
function expectedRows(): string[] {
  const rows: string[] = []
  for (let partition = 0; partition < 2; partition++) {
    for (let index = 0; index < COUNT / 2; index++) {
      const time = index * 10 + ((index * 7) % 40)
      const key = (index * 5 + partition) % KEYS
      let newest = { time: -1, index: -1 }
      for (let other = 0; other < COUNT; other++) {
        const at = { time: (other >> 1) * 10 + (((other >> 1) * 7) % 40), index: other >> 1 }
        if (((other >> 1) * 5 + (other & 1)) % KEYS !== key || at.time > time) continue
        if (at.time >= newest.time) newest = at
      }
      const row = newest.index % 5 === 0 ? undefined : newest.index
      rows.push(`c${key} ${index} ${newest.index < 0 ? undefined : row}`)
    }
  }
  return rows.sort()
}

describe('a join with a table that has nothing new for long', () => {
  it('goes on where the table counts as idle, with the row of before', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    for (const topic of ['rates', 'orders']) await log.createTopic(topic, { partitions: 1 })
    const env = new StreamExecutionEnvironment()
    const read = (topic: string) => LogSource.raw({ directory, topic })
    const table = env.table<TopicRecord, string, string>(read('rates'), {
      keyOf: () => 'EUR',
      rowOf: ({ value }) => (value === null ? null : text(value)),
      watermarks: monotonousTimestamps({ idleAfterMs: 1_000 }),
    })
    const sink = new MemorySink<string>()
    env
      .fromSource(read('orders'), monotonousTimestamps())
      .joinTable(
        table,
        () => 'EUR',
        ({ value }, rate) => `${text(value!)} at ${rate}`,
        { wait: 'event-time' },
      )
      .sinkTo(sink)
    const send = async (topic: string, value: string, time: number): Promise<void> => {
      const producer = log.producer(topic)
      producer.send(bytes('EUR'), bytes(value), time)
      await producer.sync()
    }
    await send('rates', 'old', 100)
    await send('rates', 'new', 200)
    await using cluster = new MiniCluster()
    const job = cluster.startLocal(env.graph('rates'))
    await send('orders', 'first', 150)
    await send('orders', 'second', 5_000)
    await send('orders', 'third', 6_000)
    await expect
      .poll(() => sink.values, { timeout: 60_000 })
      .toEqual(['first at old', 'second at new'])
    await job.cancel()
  })
})

describe('a join with a table by event time, of which slots are killed', () => {
  it.each(['heap', 'rocksdb'])(
    'loses, repeats and changes no result, and its windows drop none (%s)',
    async (backend) => {
      using folder = checkpointFolder()
      await using cluster = new MiniCluster({
        configuration: {
          ...QUICK_RESTARTS,
          'execution.checkpointing.dir': folder.path,
          'execution.checkpointing.interval': '10 ms',
          'state.backend.type': backend,
          'state.backend.memory.budget': '64 kb',
        },
      })
      const sink = new MemorySink<string>('exactly-once')
      const counts = new MemorySink<number>('exactly-once')
      const job = cluster.startLocal(graphOf(sink, counts, COUNT * 2))
      const random = seededRandom(commitSeed())
      const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
      for (let kill = 0; kill < 2; kill++) {
        await job.waitFor('RUNNING')
        const turns = 20 + random.below(150)
        for (let i = 0; i < turns && job.status === 'RUNNING'; i++) await turn()
        if (job.status !== 'RUNNING') break
        job.killSlot(random.below(2))
        while (job.status === 'RUNNING') await turn()
        // The slot had already ended.
        if (job.status === 'FINISHED') break
      }
      await job.result
      expect(job.attempt).toBeGreaterThan(1)
      expect([...sink.values].sort()).toEqual(expectedRows())
      expect(counts.values.reduce((sum, n) => sum + n, 0)).toBe(COUNT)
    },
  )
})
