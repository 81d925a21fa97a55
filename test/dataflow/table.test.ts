import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { LogSource } from '../../src/connectors/log/source.ts'
import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import type { TopicRecord } from '../../src/connectors/records/topic-record.ts'
import { seededRandom } from '../../src/core/random.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../src/dataflow/stream-graph.ts'
import type { TableJoinOptions } from '../../src/dataflow/tables/options.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../src/operators/windows/assigner.ts'
import { mapState } from '../../src/state/port/descriptors.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { bytes, openLog, temporaryFolder, text } from '../connectors/log/fixture.ts'
import { until } from '../run/until.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../runtime/job-fixture.ts'
import { commitSeed } from '../services/commit-seed.ts'

interface Customer {
  readonly id: number
  readonly name: string
}

interface Order {
  readonly customer: number
  readonly number: number
}

const CUSTOMERS = 2_000
const PARTITIONS = 2

/** Customers come slowly, orders at once. */
const customers = (ratePerSecond?: number): GeneratorSource<Customer> =>
  new GeneratorSource<Customer>({
    generate: (index, partition) => {
      const id = index * PARTITIONS + partition
      return { id, name: `c${id}` }
    },
    partitions: PARTITIONS,
    countPerPartition: CUSTOMERS / PARTITIONS,
    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
  })

/** `count`: null for orders without an end. */
const orders = (count: number | null = CUSTOMERS, ratePerSecond?: number): GeneratorSource<Order> =>
  new GeneratorSource<Order>({
    generate: (index, partition) => {
      const number = index * PARTITIONS + partition
      return { number, customer: (number * 7) % CUSTOMERS }
    },
    partitions: PARTITIONS,
    ...(count === null ? {} : { countPerPartition: count / PARTITIONS }),
    timestampOf: ({ number }) => number,
    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
  })

const newEnvironment = (): StreamExecutionEnvironment =>
  new StreamExecutionEnvironment({ parallelism: 2, maxParallelism: 16 })

interface JoinGraph {
  readonly scope: 'keyed' | 'global'
  readonly options: TableJoinOptions
  readonly sink: MemorySink<string>
  /** Customers a second. @default all in half a second */
  readonly rate?: number
}

function joined({ scope, options, sink, rate = CUSTOMERS * 2 }: JoinGraph): StreamGraph {
  const env = newEnvironment()
  const table = env.table(customers(rate), { keyOf: ({ id }) => id, scope })
  env
    .fromSource(orders())
    .joinTable(
      table,
      ({ customer }) => customer,
      ({ number }, customer) => `${number} ${customer?.name}`,
      { ...options, type: 'left' },
    )
    .sinkTo(sink)
  return env.graph('orders')
}

const expectedOf = (count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${number} c${(number * 7) % CUSTOMERS}`).sort()

describe.each(['keyed', 'global'] as const)('a stream that joins a %s table', (scope) => {
  it('finds the row of each record, though the table comes more slowly', async () => {
    await using cluster = new MiniCluster()
    const sink = new MemorySink<string>()
    await cluster.run(joined({ scope, options: {}, sink }))
    expect(sink.values.toSorted()).toEqual(expectedOf(CUSTOMERS))
  })

  it('does not wait where it is not to', async () => {
    await using cluster = new MiniCluster()
    const sink = new MemorySink<string>()
    // No customer comes before minutes have passed.
    const graph = joined({ scope, options: { wait: 'nothing' }, sink, rate: 0.01 })
    const job = cluster.startLocal(graph)
    await until('all orders are joined', () => sink.values.length === CUSTOMERS)
    await job.cancel()
    expect(sink.values.every((line) => line.endsWith(' undefined'))).toBe(true)
  })
})

describe('a table of a topic', () => {
  const nameOf = ({ value }: TopicRecord): string | null => (value === null ? null : text(value))

  async function topicOf(count: number) {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('customers', { partitions: 3 })
    const producer = log.producer('customers')
    const put = (id: number, name: string | null): void =>
      producer.send(bytes(String(id)), name === null ? null : bytes(name), 1_000 + id)
    for (let id = 0; id < count; id++) put(id, `old-${id}`)
    for (let id = 0; id < count; id++) put(id, id % 10 === 9 ? null : `c${id}`)
    await producer.sync()
    return { directory, put, sync: () => producer.sync() }
  }

  it('is read to its end first, has tombstones, and then goes on', async () => {
    const { directory, put, sync } = await topicOf(500)
    const env = newEnvironment()
    const source = LogSource.raw({ directory, topic: 'customers' })
    const table = env.table<TopicRecord, number, string>(source, {
      keyOf: ({ key }) => Number(text(key)),
      rowOf: nameOf,
    })
    const sink = new MemorySink<string>()
    env
      .fromSource(
        new GeneratorSource<number>({ generate: (index) => index % 500, ratePerSecond: 2_000 }),
      )
      .joinTable(
        table,
        (id) => id,
        (id, row) => `${id} ${row}`,
        { type: 'left' },
      )
      .sinkTo(sink)
    await using cluster = new MiniCluster()
    const job = cluster.startLocal(env.graph('orders'))
    // One subtask may be far ahead of the other: how many rows there are says nothing of which.
    await until('a row of each order is there', () => new Set(sink.values).size >= 500)
    const all = Array.from(
      { length: 500 },
      (_, id) => `${id} ${id % 10 === 9 ? undefined : `c${id}`}`,
    )
    expect([...new Set(sink.values)].sort()).toEqual(all.sort())
    put(9, 'late')
    await sync()
    await expect.poll(() => sink.values.includes('9 late'), { timeout: 60_000 }).toBe(true)
    await job.cancel()
  })

  it('is read to its end again after kills, with what came meanwhile', async () => {
    const { directory, put, sync } = await topicOf(300)
    const env = newEnvironment()
    const table = env.table<TopicRecord, number, string>(
      LogSource.raw({ directory, topic: 'customers' }),
      { keyOf: ({ key }) => Number(text(key)), rowOf: nameOf },
    )
    let newest = 0
    const sink = new MemorySink<string>('exactly-once')
    env
      .fromSource(orders(null, 4_000))
      .joinTable(
        table,
        ({ number }) => number % 310,
        ({ number }, row) => {
          newest = Math.max(newest, number)
          return `${number} ${row}`
        },
        { type: 'left' },
      )
      .sinkTo(sink)
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: {
        ...QUICK_RESTARTS,
        'execution.checkpointing.dir': folder.path,
        'execution.checkpointing.interval': '20 ms',
      },
    })
    const job = cluster.startLocal(env.graph('orders'))
    const random = seededRandom(commitSeed())
    let newestBefore = 0
    for (let kill = 0; kill < 3; kill++) {
      await job.waitFor('RUNNING')
      const turns = 50 + random.below(200)
      for (let i = 0; i < turns && job.status === 'RUNNING'; i++) await turn()
      put(300 + kill, `new-${kill}`)
      await sync()
      job.killSlot(random.below(2))
      newestBefore = newest
      while (job.status === 'RUNNING') await turn()
    }
    const count = newestBefore + 1_000
    const rows = () => new Map(sink.values.map((line) => line.split(' ') as [string, string]))
    await until('the orders are there', () => {
      const found = rows()
      return Array.from({ length: count }, (_, number) => found.has(`${number}`)).every(Boolean)
    })
    await job.cancel()
    expect(job.attempt).toBeGreaterThan(3)
    const byNumber = rows()
    expect(sink.values).toHaveLength(byNumber.size)
    for (let number = 0; number < count; number++) {
      const id = number % 310
      const row = byNumber.get(String(number))
      if (id < 300) expect(row).toBe(id % 10 === 9 ? 'undefined' : `c${id}`)
      else expect([`new-${id - 300}`, 'undefined']).toContain(row)
    }
    // What came before the last restart is there for all that was read after it.
    const later = Array.from({ length: count }, (_, number) => number).filter(
      (number) => number % 310 === 302 && number > newestBefore,
    )
    expect(later).not.toEqual([])
    for (const number of later) expect(byNumber.get(String(number))).toBe('new-2')
  })
})

describe('a table that is read slowly', () => {
  it('takes checkpoints while it is read, from which a job goes on', async () => {
    using folder = checkpointFolder()
    const sink = new MemorySink<number>()
    let read = 0
    const graphOf = (rate: number): StreamGraph => {
      const env = newEnvironment()
      const keyOf = ({ id }: Customer): number => {
        read += 1
        return id
      }
      env
        .fromSource(orders())
        .uid('orders')
        .joinTable(
          env.table(customers(rate), { keyOf }).uid('customers'),
          ({ customer }) => customer,
          ({ number }) => number,
        )
        .uid('joined')
        .sinkTo(sink)
        .uid('sink')
      return env.graph('slow')
    }
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    const jobId = 'e'.repeat(32)
    // So slowly that all would take twenty seconds: the checkpoint is before the end on a busy machine, too.
    const job = cluster.startLocal(graphOf(CUSTOMERS / 20), { jobId })
    await until('some customers are read', () => read > 5)
    const checkpointId = await job.triggerCheckpoint()
    expect(sink.values).toEqual([])
    await job.suspend()
    await cluster.run(graphOf(CUSTOMERS * 2), { restoreFrom: `${jobId}/chk-${checkpointId}` })
    expect(sink.values).toHaveLength(CUSTOMERS)
  })
})

describe('a table without watermarks', () => {
  it('holds no window back that comes after its join', async () => {
    const env = newEnvironment()
    const table = env.table(customers(), { keyOf: ({ id }) => id })
    const sink = new MemorySink<number>()
    env
      .fromSource(orders(), boundedOutOfOrderness<Order>(0))
      .joinTable(
        table,
        ({ customer }) => customer,
        ({ number }) => number,
      )
      .keyBy((number) => number % 2)
      .window(tumblingEventTimeWindows(100))
      .aggregate({
        createAccumulator: () => 0,
        add: (_: number, count: number) => count + 1,
        getResult: (count: number) => count,
        merge: (a: number, b: number) => a + b,
      })
      .sinkTo(sink)
    await using cluster = new MiniCluster()
    await cluster.run(env.graph('windows'))
    expect(sink.values).toEqual(Array.from({ length: CUSTOMERS / 50 }, () => 50))
  })
})

describe('a broadcast stream that is loaded first', () => {
  it('is there when the first record of a keyed stream comes', async () => {
    const env = newEnvironment()
    const names = mapState<number, string>('names')
    const sink = new MemorySink<string>()
    const all = env.fromSource(customers(CUSTOMERS * 2)).broadcast(names)
    env
      .fromSource(orders())
      .keyBy(({ customer }) => customer)
      .connect(all, { wait: 'loaded' })
      .process<string>(() => ({
        processElement({ number, customer }, context, out) {
          out.collect(`${number} ${context.getBroadcastState(names).get(customer)}`)
        },
        processBroadcastElement({ id, name }, context) {
          context.getBroadcastState(names).put(id, name)
        },
      }))
      .sinkTo(sink)
    await using cluster = new MiniCluster()
    await cluster.run(env.graph('rules'))
    expect(sink.values.toSorted()).toEqual(expectedOf(CUSTOMERS))
  })
})

describe('a table', () => {
  it('is refused where the stream that waits for it comes from its own source', () => {
    const env = newEnvironment()
    const all = env.fromSource(orders()).uid('orders')
    const first = all.keyBy(({ customer }) => customer)
    const second = all.filter(({ number }) => number > 5).keyBy(({ customer }) => customer)
    first
      .connect(second, { wait: 'loaded' })
      .map(() => ({ map1: () => 1, map2: () => 2 }))
      .discard()
    expect(() => env.graph()).toThrow(
      /waits until its table is loaded, but operator "Source" \(uid "orders"\) would then wait for its own records/,
    )
  })

  it('is refused where two sources would wait for each other', () => {
    const env = newEnvironment()
    const a = env.fromSource(orders()).uid('a')
    const b = env.fromSource(orders()).uid('b')
    const byCustomer = ({ customer }: Order): number => customer
    const none = { map1: () => 1, map2: () => 2 }
    for (const [stream, table] of [
      [a, b],
      [b, a],
    ] as const) {
      stream
        .keyBy(byCustomer)
        .connect(table.keyBy(byCustomer), { wait: 'loaded' })
        .map(() => none)
        .discard()
    }
    expect(() => env.graph()).toThrow(
      /operator "Source" \(uid "[ab]"\) would then wait for its own/,
    )
  })

  it.each([
    ['the job fails', 'fail'],
    ['the record is left out', 'skip'],
  ] as const)('has no row without a key: %s', async (_, policy) => {
    const env = newEnvironment()
    const source = new GeneratorSource<{ readonly id: number | null }>({
      generate: (index) => ({ id: index === 3 ? null : index }),
      countPerPartition: 5,
    })
    const table = env
      .table(source, { keyOf: ({ id }) => id as number, name: 'people' })
      .onError(policy)
    const sink = new MemorySink<number>()
    env
      .fromElements([1, 2, 3, 4])
      .joinTable(
        table,
        (id) => id,
        (id) => id,
      )
      .sinkTo(sink)
    await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
    const run = cluster.run(env.graph())
    if (policy === 'fail') {
      await expect(run).rejects.toThrow(/keyOf of table "people" returned null for a record/)
    } else {
      await run
      expect(sink.values.toSorted()).toEqual([1, 2, 4])
    }
  })

  it('and its joins refuse options that they do not know', () => {
    const env = newEnvironment()
    const wrong = { scope: 'keyd' } as object
    expect(() => env.table(customers(), { keyOf: ({ id }) => id, ...wrong })).toThrow(/keyed/)
    const table = env.table(customers(), { keyOf: ({ id }) => id })
    const stream = env.fromSource(orders())
    const join = (options: object) => () =>
      stream.joinTable(
        table,
        ({ number }) => number,
        () => 1,
        options,
      )
    expect(join({ wait: 'load' })).toThrow(/loaded/)
    expect(join({ typ: 'left' })).toThrow(/type/)
    expect(() => stream.connect(stream, { wait: 'all' } as never)).toThrow(/loaded/)
  })
})
