import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import type { RowChange } from '../../../src/operators/joins/table-join.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../../runtime/job-fixture.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { rowsOf } from './feed.ts'

interface Product {
  readonly id: number
  readonly category: number
  readonly price: number
  readonly isGone: boolean
}

interface Named {
  readonly id: number
  readonly version: number
  readonly isGone: boolean
}

const PARTITIONS = 2
const CHANGES = campaignSize(750, 1_500)
const PRODUCTS = 60
const CATEGORIES = 8

/** Changes of a row come from one partition: both numbers of rows are even. */
const productOf = (index: number, partition: number): Product => {
  const number = index * PARTITIONS + partition
  const random = seededRandom(number)
  return {
    id: number % PRODUCTS,
    category: random.below(CATEGORIES + 2),
    price: random.below(100),
    isGone: random.below(6) === 0,
  }
}

const namedOf =
  (rows: number) =>
  (index: number, partition: number): Named => {
    const number = index * PARTITIONS + partition
    return {
      id: number % rows,
      version: number,
      isGone: seededRandom(number + 77).below(5) === 0,
    }
  }

interface GraphOptions {
  readonly sink: MemorySink<RowChange<string, unknown>>
  readonly rate?: number
  readonly parallelism?: number
  /** Called with the index of each record that a source makes. */
  readonly onIndex?: (index: number) => void
}

const sourceOf = <T>(
  generate: (index: number, partition: number) => T,
  { rate, onIndex }: GraphOptions,
): GeneratorSource<T> =>
  new GeneratorSource<T>({
    generate: (index, partition) => {
      onIndex?.(index)
      return generate(index, partition)
    },
    partitions: PARTITIONS,
    countPerPartition: CHANGES,
    ...(rate === undefined ? {} : { ratePerSecond: rate }),
  })

function graphOf(options: GraphOptions): StreamGraph {
  const { sink, parallelism = 2 } = options
  const env = new StreamExecutionEnvironment({ parallelism, maxParallelism: 16 })
  const keyOf = ({ id }: { readonly id: number }) => id
  const products = env
    .table(sourceOf(productOf, options), {
      keyOf,
      rowOf: (product) => (product.isGone ? null : product),
      name: 'Products',
    })
    .uid('products')
  const named = (name: string, rows: number) =>
    env
      .table(sourceOf(namedOf(rows), options), {
        keyOf,
        rowOf: ({ version, isGone }) => (isGone ? null : version),
        name,
      })
      .uid(name)
  const categories = named('Categories', CATEGORIES)
  const stocks = named('Stocks', PRODUCTS)
  const lines = <K, V>(table: string, changes: DataStream<RowChange<K, V>>) =>
    changes.map(({ key, value }): RowChange<string, unknown> => ({ key: `${table} ${key}`, value }))
  const inCategory = products
    .leftJoinByForeignKey(
      categories,
      ({ category }) => category,
      ({ price }, version) => `${price} ${version}`,
    )
    .uid('in-category')
  const known = products
    .joinByForeignKey(
      categories,
      ({ category }) => category,
      ({ price, category }, version) => ({ price, category, version }),
    )
    .uid('known')
  const sums = known
    .groupBy<number, number>(({ category, price }) => [category, price])
    .reduce(
      (sum, price) => sum + price,
      (sum, price) => sum - price,
      { emptyGroups: 'delete' },
    )
    .uid('sums')
  const stocked = products.outerJoin(stocks, (product, stock) => `${product?.price} ${stock}`)
  lines('in category', inCategory.toStream())
    .union(lines('sum', sums.toStream()), lines('stocked', stocked.uid('stocked').toStream()))
    .sinkTo(sink)
    .uid('sink')
  return env.graph('tables')
}

/** The rows that plain joins and sums give. */
function expectedRows(): [string, unknown][] {
  const last = <T extends { readonly id: number }>(
    generate: (index: number, partition: number) => T,
  ): Map<number, T> => {
    const rows = new Map<number, T>()
    for (let number = 0; number < PARTITIONS * CHANGES; number++) {
      const row = generate(Math.floor(number / PARTITIONS), number % PARTITIONS)
      rows.set(row.id, row)
    }
    return rows
  }
  const products = [...last(productOf).values()].filter(({ isGone }) => !isGone)
  const versions = (rows: number) =>
    new Map(
      [...last(namedOf(rows)).values()]
        .filter(({ isGone }) => !isGone)
        .map(({ id, version }) => [id, version]),
    )
  const categories = versions(CATEGORIES)
  const stocks = versions(PRODUCTS)
  const rows = new Map<string, unknown>()
  const sums = new Map<string, number>()
  for (const { id, category, price } of products) {
    rows.set(`in category ${id}`, `${price} ${categories.get(category)}`)
    rows.set(`stocked ${id}`, `${price} ${stocks.get(id)}`)
    if (categories.has(category)) {
      sums.set(`sum ${category}`, (sums.get(`sum ${category}`) ?? 0) + price)
    }
  }
  for (const [id, stock] of stocks) {
    const key = `stocked ${id}`
    if (!rows.has(key)) rows.set(key, `undefined ${stock}`)
  }
  return [...rows, ...sums].sort(([a], [b]) => (a < b ? -1 : 1))
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('tables of tables', () => {
  it.each(['rocksdb', 'heap'])(
    'have the rows of plain joins when slots are killed: %s',
    async (backend) => {
      using folder = checkpointFolder()
      await using cluster = new MiniCluster({
        configuration: {
          ...QUICK_RESTARTS,
          'state.backend.type': backend,
          'execution.checkpointing.dir': folder.path,
          'execution.checkpointing.interval': '20 ms',
        },
      })
      const sink = new MemorySink<RowChange<string, unknown>>('exactly-once')
      let newest = 0
      const onIndex = (index: number): void => {
        newest = Math.max(newest, index)
      }
      const job = cluster.startLocal(graphOf({ sink, rate: 2 * CHANGES, onIndex }))
      const random = seededRandom(commitSeed())
      for (let kill = 0; kill < 3; kill++) {
        await job.waitFor('RUNNING')
        const before = sink.values.length
        // On a busy machine the first checkpoint may take as long as all changes: the first kill is before their end.
        const isEarly = (): boolean => kill > 0 || newest < CHANGES / 2
        const goesOn = (): boolean => job.status === 'RUNNING' && isEarly()
        // Results are there after a checkpoint alone: the restart goes on from one.
        while (goesOn() && sink.values.length === before) await turn()
        const turns = 20 + random.below(150)
        for (let i = 0; i < turns && goesOn(); i++) await turn()
        if (job.status !== 'RUNNING') break
        job.killSlot(random.below(2))
        while (job.status === 'RUNNING') await turn()
        if (job.status === 'FINISHED') break
      }
      await job.result
      expect(job.attempt).toBeGreaterThan(1)
      expect(rowsOf(sink.values)).toEqual(expectedRows())
    },
  )

  it('go on from a savepoint in more subtasks', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: {
        'execution.checkpointing.dir': folder.path,
        'execution.checkpointing.interval': '20 ms',
      },
    })
    const sink = new MemorySink<RowChange<string, unknown>>('exactly-once')
    // So slowly that the changes would take half a minute: the savepoint is before their end on a busy machine, too.
    const first = cluster.startLocal(graphOf({ sink, rate: CHANGES / 16 }))
    await until('some results are there', () => sink.values.length > 150)
    const savepoint = await first.stopWithSavepoint()
    expect(rowsOf(sink.values)).not.toEqual(expectedRows())
    await cluster.run(graphOf({ sink, parallelism: 3 }), { restoreFrom: savepoint })
    expect(rowsOf(sink.values)).toEqual(expectedRows())
  })
})
