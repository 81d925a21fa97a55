import { describe, expect, it } from 'vitest'
import type { Table } from '../../../src/dataflow/table.ts'
import type { RowChange } from '../../../src/operators/joins/table-join.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'
import { type Fed, rowsOf, tableOfFed } from './feed.ts'

// The examples of the Kafka Streams developer guide ("Kafka Streams DSL", sections on aggregating, on the equi-join of tables
// and on the join by a foreign key), with the results that it lists.

describe('the regions of users in the developer guide of Kafka Streams', () => {
  it('have the documented sums of lengths of names after each change', async () => {
    const harness = await StreamHarness.open<[Fed<string, string>], RowChange<string, number>>(
      (profiles) =>
        tableOfFed(profiles)
          .groupBy((region, user) => [region, user.length])
          .aggregate<number, number>({
            createAccumulator: () => 0,
            add: (length, sum) => sum + length,
            retract: (length, sum) => sum - length,
            getResult: (sum) => sum,
          })
          .toStream(),
    )
    const changes: RowChange<string, number>[] = []
    const changed = (user: string, region: string | null) => {
      harness.process([user, region])
      changes.push(...harness.take())
      return rowsOf(changes)
    }
    expect(changed('alice', 'E')).toEqual([['E', 5]])
    expect(changed('bob', 'A')).toEqual([
      ['A', 3],
      ['E', 5],
    ])
    expect(changed('charlie', 'A')).toEqual([
      ['A', 10],
      ['E', 5],
    ])
    expect(changed('alice', 'A')).toEqual([
      ['A', 15],
      ['E', 0],
    ])
    expect(changed('charlie', null)).toEqual([
      ['A', 8],
      ['E', 0],
    ])
    expect(changed('bob', 'E')).toEqual([
      ['A', 5],
      ['E', 3],
    ])
    await harness.close()
  })
})

type Joining = (left: Table<string, string>, right: Table<string, string>) => Table<string, string>

const pair = (left: string | undefined, right: string | undefined): string =>
  `${left ?? 'null'} ${right ?? 'null'}`

/** Left and right value of each step; undefined where the other side changes. Then inner, left and outer result, '' for none. */
const STEPS: readonly (readonly [
  string | null | undefined,
  string | null | undefined,
  string | null,
  string | null,
  string | null,
])[] = [
  [null, undefined, '', '', ''],
  [undefined, null, '', '', ''],
  ['A', undefined, '', 'A null', 'A null'],
  [undefined, 'a', 'A a', 'A a', 'A a'],
  ['B', undefined, 'B a', 'B a', 'B a'],
  [undefined, 'b', 'B b', 'B b', 'B b'],
  [null, undefined, null, null, 'null b'],
  [undefined, null, '', '', null],
  ['C', undefined, '', 'C null', 'C null'],
  [undefined, 'c', 'C c', 'C c', 'C c'],
  [undefined, null, null, 'C null', 'C null'],
  [null, undefined, '', null, null],
  [undefined, null, '', '', ''],
  [undefined, 'd', '', '', 'null d'],
  ['D', undefined, 'D d', 'D d', 'D d'],
]

describe('the joins of two tables in the developer guide of Kafka Streams', () => {
  it.each<[string, 2 | 3 | 4, Joining]>([
    ['join', 2, (left, right) => left.join(right, pair)],
    ['leftJoin', 3, (left, right) => left.leftJoin(right, pair)],
    ['outerJoin', 4, (left, right) => left.outerJoin(right, pair)],
  ])('have the documented result of each change: %s', async (_, column, joining) => {
    const harness = await StreamHarness.open<
      [Fed<string, string>, Fed<string, string>],
      RowChange<string, string>
    >((left, right) => joining(tableOfFed(left), tableOfFed(right)).toStream())
    for (const [number, step] of STEPS.entries()) {
      const [left, right] = step
      if (left !== undefined) harness.process(['k', left], number)
      if (right !== undefined) harness.process(['k', right], number, 1)
      const result = step[column]
      const expected = result === '' ? [] : [{ key: 'k', value: result }]
      expect(harness.take(), `step ${number + 1}`).toEqual(expected)
    }
    await harness.close()
  })
})

interface Left {
  readonly foreignKey: number | null
}

describe('the join by a foreign key in the developer guide of Kafka Streams', () => {
  it.each([
    ['joinByForeignKey', 0],
    ['leftJoinByForeignKey', 1],
  ] as const)('has the documented rows after each change: %s', async (call, column) => {
    const line = ({ foreignKey }: Left, right: string | undefined): string =>
      `${foreignKey} ${right ?? null}`
    const harness = await StreamHarness.open<
      [Fed<string, Left>, Fed<number, string>],
      RowChange<string, string>
    >((left, right) =>
      tableOfFed(left)
        [call](tableOfFed(right), ({ foreignKey }) => foreignKey, line)
        .toStream(),
    )
    const changes: RowChange<string, string>[] = []
    const left = (key: string, foreignKey: number | null) => harness.process([key, { foreignKey }])
    const right = (key: number, value: string | null) => harness.process([key, value], 0, 1)
    const expectRows = (...rows: readonly (readonly [inner: string, left: string])[]) => {
      changes.push(...harness.take())
      const expected = rows
        .map((row) => row[column])
        .filter((row) => row !== '')
        .map((row) => [row[0], row.slice(2)])
      expect(rowsOf(changes)).toEqual(expected)
    }
    right(1, 'foo')
    left('k', 1)
    expectRows(['k 1 foo', 'k 1 foo'])
    left('k', 2)
    expectRows(['', 'k 2 null'])
    left('k', 3)
    expectRows(['', 'k 3 null'])
    right(3, 'bar')
    expectRows(['k 3 bar', 'k 3 bar'])
    left('k', null)
    expectRows(['', 'k null null'])
    left('k', 1)
    expectRows(['k 1 foo', 'k 1 foo'])
    left('q', 10)
    expectRows(['k 1 foo', 'k 1 foo'], ['', 'q 10 null'])
    left('r', 10)
    expectRows(['k 1 foo', 'k 1 foo'], ['', 'q 10 null'], ['', 'r 10 null'])
    right(10, 'baz')
    expectRows(['k 1 foo', 'k 1 foo'], ['q 10 baz', 'q 10 baz'], ['r 10 baz', 'r 10 baz'])
    await harness.close()
  })
})
