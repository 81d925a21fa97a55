import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { Table } from '../../../src/dataflow/table.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'

const PARTITIONS = 2
const ROWS = 1_000
const GROUPS = 10

/** Rows come slowly: half a second for all. */
const numbers = (): GeneratorSource<number> =>
  new GeneratorSource<number>({
    generate: (index, partition) => index * PARTITIONS + partition,
    partitions: PARTITIONS,
    countPerPartition: ROWS / PARTITIONS,
    ratePerSecond: ROWS,
  })

type Numbers = Table<number, number>

/** Tables of tables, and the rows by group that they have in the end. */
const TABLES: Readonly<Record<string, (numbers: Numbers, others: Numbers) => Numbers>> = {
  'of groups': (table) => table.groupBy((number) => [number % GROUPS, 1]).count(),
  'of groups of a join': (table, others) =>
    table
      .join(others, (a, b) => a - b)
      .groupBy((difference, number) => [number % GROUPS, 1 + difference])
      .count(),
  'of groups of a join by a foreign key': (table, others) =>
    table
      .joinByForeignKey(
        others,
        (number) => ROWS - 1 - number,
        (number) => number,
      )
      .groupBy((number) => [number % GROUPS, 1])
      .count(),
}

describe.each(Object.entries(TABLES))('a table %s', (_, make) => {
  it('is complete when the first record of a stream meets it', async () => {
    const env = new StreamExecutionEnvironment({ parallelism: 2, maxParallelism: 16 })
    const keyOf = (number: number) => number
    const table = make(env.table(numbers(), { keyOf }), env.table(numbers(), { keyOf }))
    const sink = new MemorySink<string>()
    env
      .fromElements(Array.from({ length: GROUPS }, (_, group) => group))
      .joinTable(
        table,
        (group) => group,
        (group, count) => `${group} ${count}`,
      )
      .sinkTo(sink)
    await using cluster = new MiniCluster()
    await cluster.run(env.graph('loaded'))
    const expected = Array.from({ length: GROUPS }, (_, group) => `${group} ${ROWS / GROUPS}`)
    expect(sink.values.toSorted()).toEqual(expected)
  })
})
