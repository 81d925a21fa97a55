import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import type { Table } from '../../../src/dataflow/table.ts'
import type { RowChange } from '../../../src/operators/joins/table-join.ts'
import type { TableChange } from '../../../src/operators/tables/changes.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { type Fed, rowsOf, tableOfFed } from './feed.ts'

const CASES = campaignSize(1_000, 10_000)
const CHANGES = 10
const KEYS = 3

/** A random change: a row of one of few keys of the case, or a tombstone. */
function randomChange(number: number, random: Random): Fed<string, number> {
  return [`${number}-${random.below(KEYS)}`, random.below(4) === 0 ? null : random.below(20)]
}

const randomOf = (number: number): Random => seededRandom(commitSeed() * 10_000 + number)

function put<K, V>(rows: Map<K, V>, [key, value]: Fed<K, V>): void {
  if (value === null) rows.delete(key)
  else rows.set(key, value)
}

type Rows = ReadonlyMap<string, number>

/** Runs random cases of one table, and compares the rows of the result with what `plain` makes of the rows of the table. */
async function expectPlain<R>(
  build: (table: Table<string, number>) => Table<string, R>,
  plain: (rows: Rows, number: number) => readonly (readonly [string, R])[],
): Promise<void> {
  const harness = await StreamHarness.open<[Fed<string, number>], RowChange<string, R>>((changes) =>
    build(tableOfFed(changes)).toStream(),
  )
  const found: string[] = []
  const expected: string[] = []
  for (let number = 0; number < CASES; number++) {
    const random = randomOf(number)
    const rows = new Map<string, number>()
    for (let i = 0; i < CHANGES; i++) {
      const change = randomChange(number, random)
      put(rows, change)
      harness.process(change)
    }
    found.push(JSON.stringify(rowsOf(harness.take())))
    expected.push(JSON.stringify([...plain(rows, number)].sort(([a], [b]) => (a < b ? -1 : 1))))
  }
  await harness.close()
  expect(found).toEqual(expected)
}

/** Numbers of a case by group. */
function groupsOf(rows: Rows, number: number): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const value of rows.values()) {
    // As in the table under test: numbers that 5 divides belong to no group.
    if (value % 5 === 0) continue
    const group = `${number}: ${value % 3}`
    groups.set(group, [...(groups.get(group) ?? []), value])
  }
  return groups
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

const grouped = (table: Table<string, number>) =>
  table.groupBy<string, number>((value, key) =>
    value % 5 === 0 ? null : [`${key.split('-')[0]}: ${value % 3}`, value],
  )

describe('random changes of a table', () => {
  it('give the counts of a plain grouping', async () => {
    await expectPlain(
      (table) => grouped(table).count({ emptyGroups: 'delete' }),
      (rows, number) => [...groupsOf(rows, number)].map(([group, all]) => [group, all.length]),
    )
  })

  it('give the sums of a plain grouping', async () => {
    await expectPlain(
      (table) =>
        grouped(table).reduce(
          (sum, value) => sum + value,
          (sum, value) => sum - value,
          { emptyGroups: 'delete' },
        ),
      (rows, number) => [...groupsOf(rows, number)].map(([group, all]) => [group, sumOf(all)]),
    )
  })

  it('give the largest value of each group where the accumulator has them all', async () => {
    await expectPlain(
      (table) =>
        grouped(table).aggregate<number[], number>({
          createAccumulator: () => [],
          add: (value, all) => [...all, value],
          retract: (value, all) => all.toSpliced(all.indexOf(value), 1),
          getResult: (all) => (all.length === 0 ? null : Math.max(...all)),
        }),
      (rows, number) =>
        [...groupsOf(rows, number)].map(([group, all]) => [group, Math.max(...all)]),
    )
  })

  it('give the rows of a plain map and filter', async () => {
    await expectPlain(
      (table) =>
        table
          .mapRows((value) => (value === 7 ? null : { double: value * 2 }))
          .filter(({ double }) => double % 3 !== 0),
      (rows) =>
        [...rows]
          .filter(([, value]) => value !== 7 && (value * 2) % 3 !== 0)
          .map(([key, value]) => [key, { double: value * 2 }]),
    )
  })

  it('give the counts of the counts, through two groupings', async () => {
    await expectPlain(
      (table) =>
        grouped(table)
          .count({ emptyGroups: 'delete' })
          .groupBy<string, number>((count, group) => [`${group.split(':')[0]} x ${count}`, 1])
          .count({ emptyGroups: 'delete' }),
      (rows, number) => {
        const counts = new Map<string, number>()
        for (const all of groupsOf(rows, number).values()) {
          const key = `${number} x ${all.length}`
          counts.set(key, (counts.get(key) ?? 0) + 1)
        }
        return [...counts]
      },
    )
  })

  it('make a changelog in which each change fits to the row before it', async () => {
    const harness = await StreamHarness.open<[Fed<string, number>], TableChange<string, number>>(
      (changes) => tableOfFed(changes).toChangelog(),
    )
    const wrong: unknown[] = []
    for (let number = 0; number < CASES; number++) {
      const random = randomOf(number)
      const rows = new Map<string, number>()
      const replayed = new Map<string, number>()
      /** The row that a -U took out, until its +U. */
      let updated: string | undefined
      for (let i = 0; i < CHANGES; i++) {
        const change = randomChange(number, random)
        put(rows, change)
        harness.process(change)
        for (const { kind, key, value } of harness.take()) {
          const isOld = kind === '-U' || kind === '-D'
          const fits = isOld ? replayed.get(key) === value : !replayed.has(key)
          if (!fits || (kind === '+U') !== (updated === key)) wrong.push([number, kind, key, value])
          updated = kind === '-U' ? key : undefined
          if (isOld) replayed.delete(key)
          else replayed.set(key, value)
        }
        if (updated !== undefined) wrong.push([number, 'no +U'])
      }
      if (JSON.stringify([...rows].sort()) !== JSON.stringify([...replayed].sort())) {
        wrong.push([number, rows, replayed])
      }
    }
    await harness.close()
    expect(wrong).toEqual([])
  })
})

type Two = [Fed<string, number>, Fed<string, number>]

describe('random changes of two tables', () => {
  it.each([
    ['join', (left: boolean, right: boolean) => left && right],
    ['leftJoin', (left: boolean) => left],
    ['outerJoin', (left: boolean, right: boolean) => left || right],
  ] as const)('give the rows of a plain %s, and tombstones only of rows', async (call, hasRow) => {
    const harness = await StreamHarness.open<Two, RowChange<string, string>>((left, right) =>
      tableOfFed(left)
        [call](tableOfFed(right), (a?: number, b?: number) => `${a} ${b}`)
        .toStream(),
    )
    const found: string[] = []
    const expected: string[] = []
    let idle = 0
    for (let number = 0; number < CASES; number++) {
      const random = randomOf(number)
      const sides = [new Map<string, number>(), new Map<string, number>()] as const
      const shown = new Map<string, string>()
      for (let i = 0; i < CHANGES; i++) {
        const side = random.below(2) as 0 | 1
        const change = randomChange(number, random)
        put(sides[side], change)
        harness.process(change, 0, side)
        for (const { key, value } of harness.take()) {
          if (value !== null) shown.set(key, value)
          else if (!shown.delete(key)) idle += 1
        }
      }
      const [left, right] = sides
      const keys = [...new Set([...left.keys(), ...right.keys()])]
      const plain = keys
        .filter((key) => hasRow(left.has(key), right.has(key)))
        .map((key) => [key, `${left.get(key)} ${right.get(key)}`])
      found.push(JSON.stringify([...shown].sort()))
      expected.push(JSON.stringify(plain.sort()))
    }
    await harness.close()
    expect(found).toEqual(expected)
    expect(idle).toBe(0)
  })

  it('give the counts of a plain grouping of their join', async () => {
    const build = (left: DataStream<Fed<string, number>>, right: DataStream<Fed<string, number>>) =>
      tableOfFed(left)
        .join(tableOfFed(right), (a, b) => (a + b) % 4)
        .groupBy<string, number>((sum, key) => [`${key.split('-')[0]}: ${sum}`, 1])
        .count({ emptyGroups: 'delete' })
        .toStream()
    const harness = await StreamHarness.open<Two, RowChange<string, number>>(build)
    const found: string[] = []
    const expected: string[] = []
    for (let number = 0; number < CASES; number++) {
      const random = randomOf(number)
      const sides = [new Map<string, number>(), new Map<string, number>()] as const
      for (let i = 0; i < CHANGES; i++) {
        const side = random.below(2) as 0 | 1
        const change = randomChange(number, random)
        put(sides[side], change)
        harness.process(change, 0, side)
      }
      const counts = new Map<string, number>()
      for (const [key, a] of sides[0]) {
        const b = sides[1].get(key)
        if (b === undefined) continue
        const group = `${number}: ${(a + b) % 4}`
        counts.set(group, (counts.get(group) ?? 0) + 1)
      }
      found.push(JSON.stringify(rowsOf(harness.take())))
      expected.push(JSON.stringify([...counts].sort(([a], [b]) => (a < b ? -1 : 1))))
    }
    await harness.close()
    expect(found).toEqual(expected)
  })
})

describe('tables whose rows are all gone', () => {
  it.each([
    ['delete', 0],
    // Of each group an accumulator.
    ['keep', 3],
  ] as const)('have no state but that of groups that stay: %s', async (emptyGroups, entries) => {
    const harness = await StreamHarness.open<Two, RowChange<string, number>>((left, right) =>
      tableOfFed(left)
        .outerJoin(tableOfFed(right), (a, b) => (a ?? 0) + (b ?? 0))
        .groupBy<string, number>((sum) => [`${sum % 3}`, sum])
        .reduce(
          (sum, value) => sum + value,
          (sum, value) => sum - value,
          { emptyGroups },
        )
        .toStream(),
    )
    for (let key = 0; key < 100; key++) {
      harness.process([`${key}`, key])
      harness.process([`${key}`, 2 * key], 0, 1)
    }
    for (let key = 0; key < 100; key++) {
      harness.process([`${key}`, null])
      harness.process([`${key}`, null], 0, 1)
    }
    expect(harness.numKeyedStateEntries()).toBe(entries)
    const kept = emptyGroups === 'keep' ? ['0', '1', '2'].map((group) => [group, 0]) : []
    expect(rowsOf(harness.take())).toEqual(kept)
    await harness.close()
  })
})
