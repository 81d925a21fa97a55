import { describe, expect, it } from 'vitest'
import { AsyncDataStream } from '../../src/dataflow/async/data-stream.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import {
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import { mapState } from '../../src/state/port/descriptors.ts'
import { StreamHarness } from '../../src/testing/stream-harness.ts'

interface Visit {
  readonly page: string
  readonly ms: number
}

const late = new OutputTag<Visit>('late')
const visit = (page: string, ms: number): Visit => ({ page, ms })

/** The longest visit of a page in 10 s. */
const longest = (visits: DataStream<Visit>): DataStream<Visit> =>
  visits
    .keyBy(({ page }) => page)
    .window(tumblingEventTimeWindows(10_000))
    .sideOutputLateData(late)
    .reduce((a, b) => (a.ms > b.ms ? a : b))

describe('StreamHarness', () => {
  it('fires windows when a test moves the watermark, and shows late records', async () => {
    const harness = await StreamHarness.open<[Visit], Visit>(longest)
    harness.process(visit('home', 5), 1_000)
    harness.process(visit('home', 9), 9_000)
    harness.process(visit('help', 7), 12_000)
    harness.watermark(9_998)
    expect(harness.take()).toEqual([])
    harness.watermark(9_999)
    expect(harness.outputs).toEqual([{ value: visit('home', 9), timestamp: 9_999 }])
    expect(harness.watermarks).toEqual([9_998, 9_999])
    harness.process(visit('home', 99), 9_000)
    expect(harness.sideOutput(late)).toEqual([{ value: visit('home', 99), timestamp: 9_000 }])
    harness.endInput()
    expect(harness.values).toEqual([visit('home', 9), visit('help', 7)])
    await harness.close()
  })

  it('counts entries of state and timers, of which none is left behind windows', async () => {
    const harness = await StreamHarness.open<[Visit], Visit>(longest)
    harness.process(visit('home', 5), 1_000)
    harness.process(visit('help', 5), 1_000)
    harness.process(visit('help', 5), 11_000)
    expect(harness.numKeyedStateEntries()).toBe(3)
    expect(harness.numEventTimeTimers()).toBe(3)
    expect(harness.numProcessingTimeTimers()).toBe(0)
    harness.watermark(100_000)
    expect(harness.numKeyedStateEntries() + harness.numEventTimeTimers()).toBe(0)
  })

  it('moves the clock of processing-time windows', async () => {
    const harness = await StreamHarness.open<[number], number>((numbers) =>
      numbers.windowAll(tumblingProcessingTimeWindows(1_000)).reduce((a, b) => a + b),
    )
    harness.process(1)
    harness.process(2)
    harness.advanceTime(998)
    expect(harness.values).toEqual([])
    expect(harness.numProcessingTimeTimers()).toBe(1)
    harness.advanceTime(2)
    expect(harness.values).toEqual([3])
  })

  it('joins two inputs, whose slower watermark counts', async () => {
    const harness = await StreamHarness.open<[Visit, string], string>((visits, pages) =>
      visits
        .join(pages)
        .where(({ page }) => page)
        .equalTo((page) => page)
        .window(tumblingEventTimeWindows(10))
        .apply(({ ms }, page) => `${page} ${ms}`),
    )
    harness.process(visit('home', 3), 1)
    harness.process('home', 2, 1)
    harness.process('help', 2, 1)
    harness.watermark(20, 0)
    expect(harness.values).toEqual([])
    harness.watermark(9, 1)
    expect(harness.values).toEqual(['home 3'])
  })

  it('runs interval joins', async () => {
    const harness = await StreamHarness.open<[number, number], string>((left, right) =>
      left
        .keyBy(() => 0)
        .intervalJoin(right.keyBy(() => 0))
        .between(-2, 2)
        .process(() => ({ processElement: (a, b, _, out) => out.collect(`${a}-${b}`) })),
    )
    harness.process(1, 100)
    harness.process(2, 101, 1)
    harness.process(3, 110, 1)
    expect(harness.values).toEqual(['1-2'])
  })

  it('waits for asynchronous functions where a test says so', async () => {
    const harness = await StreamHarness.open<[number], number>((numbers) =>
      AsyncDataStream.orderedWait(numbers, () => ({ asyncInvoke: async (n: number) => [n * 10] }), {
        capacity: 10,
        timeoutMs: 1_000,
      }).filter((n) => n > 10),
    )
    for (const n of [1, 2, 3]) harness.process(n, n)
    expect(harness.values).toEqual([])
    await harness.settle()
    expect(harness.values).toEqual([20, 30])
  })

  it('feeds a broadcast stream beside another one', async () => {
    const rules = mapState<string, number>('rules')
    const harness = await StreamHarness.open<[string, [string, number]], string>((words, all) =>
      words.connect(all.broadcast(rules)).process(() => ({
        processElement: (word, context, out) =>
          out.collect(`${word} ${context.getBroadcastState(rules).get(word)}`),
        processBroadcastElement: ([word, n], context) =>
          context.getBroadcastState(rules).put(word, n),
      })),
    )
    harness.process(['tea', 3], 0, 1)
    harness.process('tea', 0)
    expect(harness.values).toEqual(['tea 3'])
  })

  it('runs what reads a side output', async () => {
    const harness = await StreamHarness.open<[Visit], string>((visits) =>
      longest(visits)
        .getSideOutput(late)
        .map(({ page }) => `late: ${page}`),
    )
    harness.watermark(50_000)
    harness.process(visit('home', 1), 10)
    harness.process(visit('help', 1), 10)
    expect(harness.values).toEqual(['late: home', 'late: help'])
  })

  it('goes on from a snapshot', async () => {
    const sums = (numbers: DataStream<number>): DataStream<number> =>
      numbers
        .keyBy((n) => n % 2)
        .window(slidingEventTimeWindows(20, 10))
        .reduce((a, b) => a + b)
    const before = await StreamHarness.open<[number], number>(sums)
    for (const n of [1, 2, 3]) before.process(n, n)
    const restore = await before.snapshot()
    await before.close()
    const after = await StreamHarness.open<[number], number>(sums, { restore })
    after.process(4, 4)
    after.watermark(9)
    expect(after.take().sort()).toEqual([4, 6])
  })

  it('names an input that is not there', async () => {
    const harness = await StreamHarness.open<[number, number], number>((a, b) => a.union(b))
    expect(() => harness.watermark(1, 2)).toThrow('has 2 inputs, counted from 0')
  })
})
