import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { untilTime } from '../../../src/dataflow/tables/options.ts'
import type { RowChange } from '../../../src/operators/joins/table-join.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'
import { type Fed, tableOfFed } from './feed.ts'

const MINUTE = 60_000

type Harness = StreamHarness<[Fed<string, number>], RowChange<string, number>>

const open = (maxRows?: number, options: Parameters<typeof StreamHarness.open>[1] = {}) =>
  StreamHarness.open<[Fed<string, number>], RowChange<string, number>>(
    (changes) =>
      tableOfFed(changes)
        .suppress(untilTime(MINUTE, maxRows === undefined ? {} : { maxRows }))
        .toStream(),
    options,
  )

const lines = (harness: Harness) => harness.take().map(({ key, value }) => `${key} ${value}`)

describe('suppress(untilTime(...)) of a table', () => {
  it('sends the last change of a row, its time after the first one', async () => {
    const harness = await open()
    harness.process(['a', 1])
    harness.advanceTime(MINUTE - 1)
    harness.process(['a', 2])
    harness.process(['b', 1])
    expect(lines(harness)).toEqual([])
    harness.advanceTime(1)
    expect(lines(harness)).toEqual(['a 2'])
    harness.process(['a', 3])
    harness.advanceTime(MINUTE - 1)
    expect(lines(harness)).toEqual(['b 1'])
    harness.advanceTime(1)
    expect(lines(harness)).toEqual(['a 3'])
    await harness.close()
  })

  it('sends a tombstone where the last change is one', async () => {
    const harness = await open()
    harness.process(['a', 1])
    harness.process(['a', null])
    harness.advanceTime(MINUTE)
    expect(lines(harness)).toEqual(['a null'])
    expect(harness.numKeyedStateEntries()).toBe(0)
    expect(harness.numEventTimeTimers() + harness.numProcessingTimeTimers()).toBe(0)
    await harness.close()
  })

  it('sends all at the end of input, once', async () => {
    const harness = await open()
    harness.process(['a', 1])
    harness.process(['b', null])
    harness.endInput()
    harness.advanceTime(MINUTE)
    expect(lines(harness).sort()).toEqual(['a 1', 'b null'])
    await harness.close()
  })

  it('holds no more than its most rows, and lets the changes of others pass', async () => {
    const harness = await open(2)
    for (const change of [
      ['a', 1],
      ['b', 1],
      ['c', 1],
      ['a', 2],
      ['c', 2],
    ] as const) {
      harness.process(change)
    }
    expect(lines(harness)).toEqual(['c 1', 'c 2'])
    harness.advanceTime(MINUTE)
    expect(lines(harness).sort()).toEqual(['a 2', 'b 1'])
    harness.process(['c', 3])
    expect(lines(harness)).toEqual([])
    await harness.close()
  })

  it('sends what was held before a restore, and then holds as many rows as before', async () => {
    const before = await open(2)
    before.process(['a', 1])
    before.advanceTime(MINUTE / 2)
    before.process(['b', 1])
    const restore = await before.snapshot()
    await before.close()
    const clock = new ManualClock(MINUTE / 2 + 1)
    const harness = await open(2, { restore, clock })
    harness.process(['b', 2])
    harness.process(['c', 1])
    harness.process(['d', 1])
    harness.process(['e', 1])
    expect(lines(harness)).toEqual(['e 1'])
    harness.advanceTime(MINUTE / 2 - 1)
    expect(lines(harness)).toEqual(['a 1'])
    harness.advanceTime(MINUTE / 2)
    expect(lines(harness)).toEqual(['b 2'])
    harness.process(['f', 1])
    // c and d are held still: their places are not those of a and b.
    expect(lines(harness)).toEqual(['f 1'])
    harness.advanceTime(MINUTE)
    expect(lines(harness).sort()).toEqual(['c 1', 'd 1'])
    await harness.close()
  })

  it('sends all at the end of a job whose sources make no watermarks', async () => {
    const env = new StreamExecutionEnvironment({ parallelism: 2, maxParallelism: 16 })
    const rows = Array.from(
      { length: 40 },
      (_, number): Fed<number, number> => [number % 8, number],
    )
    const sink = new MemorySink<RowChange<number, number>>()
    env
      .table<Fed<number, number>, number, number>(new MemorySource([rows]), {
        keyOf: ([key]) => key,
        rowOf: ([, value]) => value,
      })
      .suppress(untilTime(60 * MINUTE))
      .toStream()
      .sinkTo(sink)
    await using cluster = new MiniCluster()
    await cluster.run(env.graph())
    const last = Array.from({ length: 8 }, (_, key) => ({ key, value: 32 + key }))
    expect(sink.values.toSorted((a, b) => a.key - b.key)).toEqual(last)
  })
})
