import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import type { Serializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { RowChange } from '../../../src/operators/joins/table-join.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { rowsOf } from './feed.ts'

type Row = readonly [id: number, group: number]

const keyOf = ([id]: Row): number => id

const tableIn = (env: StreamExecutionEnvironment, name: string, rows: readonly Row[] = []) =>
  env.table(new MemorySource([rows]), { keyOf, rowOf: ([, group]) => group, name }).uid(name)

/** A value that MessagePack refuses: its class has a method. */
class Money {
  readonly cents: number

  constructor(cents: number) {
    this.cents = cents
  }

  plus(cents: number): Money {
    return new Money(this.cents + cents)
  }
}

const money: Serializer<Money> = {
  id: 'money/1',
  write: ({ cents }, writer) => writer.int53(cents),
  read: (reader) => new Money(reader.int53()),
}

describe('the serializers of tables', () => {
  it('encode their rows between slots, too', async () => {
    const env = new StreamExecutionEnvironment({ parallelism: 2, maxParallelism: 16 })
    const sink = new MemorySink<readonly [number, number | undefined]>()
    const rows = Array.from({ length: 20 }, (_, id): Row => [id, id % 3])
    const source = () => new MemorySource([rows.slice(0, 10), rows.slice(10)])
    const prices = env.table(source(), {
      keyOf,
      rowOf: ([id]) => new Money(id),
      serializer: money,
    })
    env
      .table(source(), { keyOf, rowOf: ([, group]) => group })
      .joinByForeignKey(
        prices,
        (_, id) => 19 - id,
        (_, price) => price,
        { serializer: money },
      )
      .join(prices, (other, price) => other.plus(price.cents), { serializer: money })
      .groupBy(({ cents }, id) => [id % 3, new Money(cents)], { serializer: money })
      .reduce(
        (sum, { cents }) => sum.plus(cents),
        (sum, { cents }) => sum.plus(-cents),
      )
      .toStream()
      .map(({ key, value }) => [key, value?.cents] as const)
      .sinkTo(sink)
    await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
    await cluster.run(env.graph())
    // Each row has 19 cents in the end.
    expect([...new Map(sink.values)].sort()).toEqual([
      [0, 7 * 19],
      [1, 7 * 19],
      [2, 6 * 19],
    ])
  })
})

describe('the settings of a table of tables', () => {
  it('give each of its operators a uid, from that of the table', () => {
    const env = new StreamExecutionEnvironment()
    const left = tableIn(env, 'left')
    left
      .joinByForeignKey(
        tableIn(env, 'right'),
        (group) => group,
        (a) => a,
      )
      .uid('joined')
      .groupBy((group) => [group, 1])
      .count()
      .uid('counts')
      .toStream()
      .sinkTo(new MemorySink())
      .uid('sink')
    const uids = env.graph().nodes.filter(({ uidGenerated, body }) => {
      return !uidGenerated && body.kind === 'operator'
    })
    expect(uids.map(({ uid }) => uid)).toEqual([
      'left',
      'right',
      'joined.TableSubscriptions',
      'joined.TableAnswers',
      'joined',
      'counts.TableGroups',
      'counts',
      'sink',
    ])
  })

  it('leave out the rows at which a function of any of its operators throws', async () => {
    const env = new StreamExecutionEnvironment()
    const sink = new MemorySink<RowChange<number, number>>()
    const rows = Array.from({ length: 10 }, (_, id): Row => [id, id % 3])
    tableIn(env, 'rows', rows)
      .groupBy((group, id) => {
        if (id === 4) throw new Error('not this one')
        return [group, 1]
      })
      .count()
      .onError('skip')
      .toStream()
      .sinkTo(sink)
    await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
    await cluster.run(env.graph())
    expect(rowsOf(sink.values)).toEqual([
      [0, 4],
      [1, 2],
      [2, 3],
    ])
  })
})
