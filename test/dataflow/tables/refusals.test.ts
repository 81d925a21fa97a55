import { describe, expect, it } from 'vitest'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { untilTime } from '../../../src/dataflow/tables/options.ts'
import type { RowChange } from '../../../src/operators/joins/table-join.ts'
import { AggregationFunction } from '../../../src/operators/tables/aggregation.ts'
import type { GroupChange } from '../../../src/operators/tables/grouping.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import { ProcessFunctionTestHarnesses } from '../../../src/testing/process-function-test-harnesses.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'
import { type Fed, tableOfFed } from './feed.ts'

type Row = readonly [string, number]

const keyOf = ([key]: Row): string => key
const env = () => new StreamExecutionEnvironment()
const source = () => new MemorySource<Row>([[['a', 1]]])
const both = (a: unknown, b: unknown): string => `${a} ${b}`

describe('tables refuse', () => {
  it('a join of keys with different serializers, with what to do', () => {
    const job = env()
    const plain = job.table(source(), { keyOf })
    const texts = job.table(source(), { keyOf, keySerializer: stringSerializer })
    expect(() => plain.join(texts, both)).toThrow(
      /join\(\.\.\.\) of tables got keys of the serializers key\/1 and string\/1: .*joinByForeignKey/,
    )
    expect(() => plain.leftJoin(texts, both)).toThrow(/leftJoin/)
    expect(() => plain.joinByForeignKey(texts, String, both)).not.toThrow()
  })

  it('a join with a table that each subtask has whole', () => {
    const job = env()
    const keyed = job.table(source(), { keyOf })
    const whole = job.table(source(), { keyOf, scope: 'global' })
    for (const join of [
      () => keyed.join(whole, both),
      () => whole.outerJoin(keyed, both),
      () => keyed.joinByForeignKey(whole, String, both),
    ]) {
      expect(join).toThrow(/scope: 'global', which only streams join/)
    }
  })

  it('what is no table, and a table of another job', () => {
    const job = env()
    const table = job.table(source(), { keyOf })
    expect(() => table.join(job.fromElements([1]) as never, both)).toThrow(/a table: env\.table/)
    expect(() => table.join(env().table(source(), { keyOf }), both)).toThrow(/another environment/)
  })

  it('functions that are none, and options that they do not know', () => {
    const table = env().table(source(), { keyOf })
    const wrong = { serialiser: 1 } as object
    expect(() => table.mapRows(1 as never)).toThrow(/mapRows\(\(customer, id\)/)
    expect(() => table.filter('x' as never)).toThrow(/filter/)
    expect(() => table.groupBy(undefined as never)).toThrow(/groupBy/)
    expect(() => table.groupBy(() => ['a', 1], wrong)).toThrow(/serializer/)
    expect(() => table.groupBy(() => ['a', 1]).aggregate({} as never)).toThrow(/retract/)
    expect(() => table.groupBy(() => ['a', 1]).count({ emptyGroups: 'no' as never })).toThrow(
      /keep/,
    )
    expect(() => table.groupBy(() => ['a', 1]).reduce((a) => a, 1 as never)).toThrow(/reduce/)
    expect(() => table.suppress(1 as never)).toThrow(/untilTime\(60_000\)/)
    expect(() => untilTime(0)).toThrow(/ms/)
    expect(() => untilTime(1, { maxRows: 0 })).toThrow(/maxRows/)
  })

  it('a function that returns no row or a promise', async () => {
    const harness = await StreamHarness.open<[Fed<string, number>], RowChange<string, number>>(
      (changes) =>
        tableOfFed(changes)
          .mapRows((value) => (value === 1 ? undefined : Promise.resolve(1)) as unknown as number)
          .toStream(),
    )
    expect(() => harness.process(['a', 1])).toThrow(/mapRows returned undefined: return the row/)
    expect(() => harness.process(['a', 2])).toThrow(/returned a promise/)
    await harness.close()
  })

  it.each([
    ['a group alone', 'north', /groupBy returned the string "north": return \[group, value\]/],
    ['nothing', undefined, /groupBy returned undefined: return \[group, value\]/],
    ['no group', [undefined, 1], /or null for a row that belongs to no group/],
  ])('%s where groupBy takes a group and a value', async (_, returned, message) => {
    const harness = await StreamHarness.open<[Fed<string, number>], RowChange<string, number>>(
      (changes) =>
        tableOfFed(changes)
          .groupBy<string, number>(() => returned as never)
          .count()
          .toStream(),
    )
    expect(() => harness.process(['a', 1])).toThrow(message)
    await harness.close()
  })

  it('to take a row out of a group without rows, and change nothing', async () => {
    const harness = await ProcessFunctionTestHarnesses.forKeyedProcessFunction<
      string,
      GroupChange<string, number>,
      RowChange<string, number>
    >(
      new AggregationFunction<string, number, number, number>({
        aggregate: {
          createAccumulator: () => 0,
          add: (value, sum) => sum + value,
          retract: (value, sum) => sum - value,
          getResult: (sum) => sum,
        },
        emptyGroups: 'keep',
        accumulator: valueState('accumulator'),
        rows: valueState('rows'),
      }),
      ({ group }) => group,
    )
    const add = { group: 'g', kind: 'add', removed: null, added: 5 } as const
    const remove = { group: 'g', kind: 'remove', removed: 5, added: null } as const
    harness.process(add)
    harness.process(remove)
    expect(() => harness.process(remove)).toThrow(/a row out of group g, which has no rows/)
    harness.process(add)
    expect(harness.values.map(({ value }) => value)).toEqual([5, 0, 5])
    await harness.close()
  })
})
