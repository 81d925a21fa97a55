import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../../src/connectors/memory/sink.ts'
import { msgpackSerializer } from '../../../../src/core/formats/msgpack-serializer.ts'
import { StreamExecutionEnvironment } from '../../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../../../src/dataflow/watermark-strategy.ts'
import type { StoredFold } from '../../../../src/dataflow/windows/plan.ts'
import { type Fold, reduceFold } from '../../../../src/operators/folds/fold.ts'
import { OutputTag } from '../../../../src/operators/port/output-tag.ts'
import {
  assignedEventTimeWindows,
  cumulativeEventTimeWindows,
  cumulativeProcessingTimeWindows,
  localDayWindows,
  localHourWindows,
} from '../../../../src/operators/windows/assigned/assigners.ts'
import type { TimeWindow, WindowAssigner } from '../../../../src/operators/windows/assigner.ts'
import { countTrigger } from '../../../../src/operators/windows/trigger.ts'
import { LocalExecutor } from '../../../../src/runtime/job/local-executor.ts'
import { type Event, feed, open } from '../planned-windows.ts'

interface Bid {
  readonly clock: string
  readonly price: number
}

/** The bids of the page of window aggregations in Flink's documentation. */
const BIDS: readonly Bid[] = [
  { clock: '08:05', price: 4 },
  { clock: '08:07', price: 2 },
  { clock: '08:09', price: 5 },
  { clock: '08:11', price: 3 },
  { clock: '08:13', price: 1 },
  { clock: '08:17', price: 6 },
]

const MINUTE = 60_000
const timeOf = (clock: string): number => Date.parse(`2020-04-15T${clock}:00Z`)
const clockOf = (time: number): string => new Date(time).toISOString().slice(11, 16)

async function totalsOf(assigner: WindowAssigner): Promise<string[]> {
  const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })
  const watermarks = boundedOutOfOrderness<Bid>(10 * MINUTE, {
    timestampOf: ({ clock }) => timeOf(clock),
  })
  const sink = new MemorySink<string>()
  env
    .fromElements(BIDS, watermarks)
    .windowAll(assigner)
    .aggregate(
      {
        createAccumulator: () => 0,
        add: ({ price }, sum) => sum + price,
        getResult: (sum) => sum,
        merge: (a, b) => a + b,
      },
      () => ({
        process: (_, { window }, [total], out) =>
          out.collect(`${clockOf(window.start)} ${clockOf(window.end)} ${total}`),
      }),
    )
    .sinkTo(sink)
  await env.execute('bids')
  return [...sink.values]
}

/** What Flink's documentation prints for CUMULATE of 10 minutes by 2 minutes. */
const TOTALS = [
  '08:00 08:06 4',
  '08:00 08:08 6',
  '08:00 08:10 11',
  '08:10 08:12 3',
  '08:10 08:14 4',
  '08:10 08:16 4',
  '08:10 08:18 10',
  '08:10 08:20 10',
]

describe('cumulative windows', () => {
  const windows = cumulativeEventTimeWindows(10 * MINUTE, 2 * MINUTE)

  it('give the totals of the documentation of Flink', async () => {
    expect(await totalsOf(windows)).toEqual(TOTALS)
  })

  it('keep their records once, and a function of windows gets them all each time', async () => {
    const harness = await open({ assigner: cumulativeEventTimeWindows(100, 10) })
    feed(harness, 'a', 5, 7, 95)
    expect(harness.numKeyedStateEntries()).toBe(2)
    harness.watermark(9)
    expect(harness.take()).toEqual(['a: 5 7'])
    feed(harness, 'a', 12)
    harness.watermark(29)
    expect(harness.take()).toEqual(['a: 5 7 12', 'a: 5 7 12'])
    // Its first window has fired: it is in those that have not.
    feed(harness, 'a', 3)
    harness.watermark(39)
    expect(harness.take()).toEqual(['a: 5 7 12 3'])
    harness.watermark(99)
    expect(harness.take()).toEqual([...Array(5).fill('a: 5 7 12 3'), 'a: 5 7 12 3 95'])
    feed(harness, 'a', 50)
    expect(harness.metrics.snapshot()).toMatchObject({ numLateRecordsDropped: 1 })
    expect((await harness.snapshot()).entries).toEqual([])
  })

  it('may have a trigger, lateness, and a fold that nothing may merge', async () => {
    const assigner = cumulativeEventTimeWindows(20, 10)
    const triggered = await open({ assigner, trigger: countTrigger(2) })
    feed(triggered, 'a', 1, 2, 12)
    expect(triggered.take()).toEqual(['a: 1 2', 'a: 1 2'])
    const late = await open({ assigner, allowedLatenessMs: 100 })
    feed(late, 'a', 1)
    late.watermark(30)
    expect(late.take()).toEqual(['a: 1', 'a: 1'])
    feed(late, 'a', 2)
    expect(late.take().sort()).toEqual(['a: 1 2', 'a: 1 2'])
    const last: Fold<Event, Event> = reduceFold<Event>((_, b) => b)
    const stored = { fold: last, serializer: msgpackSerializer<Event>() } as unknown
    const folded = await open({ assigner, fold: stored as StoredFold<Event> })
    feed(folded, 'a', 12, 1)
    folded.watermark(9)
    expect(folded.take()).toEqual(['a: 1'])
    // Undeclared: the last one that came is the last one, whatever the step it is in.
    folded.watermark(19)
    expect(folded.take()).toEqual(['a: 1'])
  })

  it('fire by the wall clock, too', async () => {
    const assigner = cumulativeProcessingTimeWindows(20, 10)
    const harness = await open({ assigner })
    feed(harness, 'a', 1)
    const now = harness.clock.nowMs()
    harness.advanceTime(20 - (now % 20))
    expect(harness.take()).toEqual(now % 20 < 10 ? ['a: 1', 'a: 1'] : ['a: 1'])
  })

  it.each([
    [10, 3, 0],
    [10, 0, 0],
    [0, 1, 0],
    [10, 5, 10],
    [10.5, 1, 0],
  ])('are refused with a size of %d, a step of %d and an offset of %d', (size, step, offset) => {
    expect(() => cumulativeEventTimeWindows(size, step, offset)).toThrow('cumulative windows')
  })
})

describe('windows of an assigner of a function of the user', () => {
  const night = (time: number): TimeWindow[] =>
    time % 100 < 30 ? [{ start: time - (time % 100), end: time - (time % 100) + 30 }] : []

  it('are those that the function returns, and an empty list leaves a record out', async () => {
    const harness = await open({ assigner: assignedEventTimeWindows(night) })
    feed(harness, 'a', 1, 29, 31, 105)
    harness.watermark(1000)
    expect(harness.take()).toEqual(['a: 1 29', 'a: 105'])
    feed(harness, 'a', 2, 31)
    expect(harness.metrics.snapshot()).toMatchObject({ numLateRecordsDropped: 1 })
  })

  it('get the record, and may be many', async () => {
    const many = assignedEventTimeWindows<Event>((time, [key]) =>
      Array.from({ length: key === 'many' ? 1000 : 1 }, (_, n) => ({
        start: 0,
        end: time + n + 1,
      })),
    )
    const harness = await open({ assigner: many })
    feed(harness, 'many', 5)
    feed(harness, 'a', 5)
    harness.watermark(10_000)
    expect(harness.take().filter((text) => text === 'many: 5')).toHaveLength(1000)
  })

  it('send a record that is late for all of them to the side output', async () => {
    const lateDataTag = new OutputTag<Event>('late')
    const harness = await open({ assigner: assignedEventTimeWindows(night), lateDataTag })
    harness.watermark(50)
    feed(harness, 'a', 2)
    expect(harness.sideOutput(lateDataTag)).toEqual([{ value: ['a', 2], timestamp: 2 }])
  })

  it.each<[string, unknown]>([
    ['no list', { start: 0, end: 100 }],
    ['a promise', Promise.resolve([])],
    ['no window', [5]],
    ['an end before the start', [{ start: 5, end: 5 }]],
    ['a fraction', [{ start: 0.5, end: 100 }]],
    ['a window elsewhere', [{ start: 50, end: 100 }]],
    ['a window that ends at the record', [{ start: 0, end: 7 }]],
    [
      'a window twice',
      [
        { start: 0, end: 100 },
        { start: 1, end: 100 },
        { start: 0, end: 100 },
      ],
    ],
  ])('are refused where the function returns %s', async (_, given) => {
    for (const trigger of [undefined, countTrigger(1)]) {
      const assigner = assignedEventTimeWindows(() => given as TimeWindow[])
      const harness = await open({ assigner, trigger })
      expect(() => feed(harness, 'a', 7)).toThrow(/assigned windows|promise/i)
    }
  })

  it('are refused where there is no function', () => {
    expect(() => assignedEventTimeWindows(5 as never)).toThrow('assign')
    expect(() => localDayWindows('Mars/Phobos')).toThrow('Europe/Berlin')
    expect(() => localDayWindows(undefined as never)).toThrow('IANA')
    expect(() => localDayWindows('UTC', 0)).toThrow('days')
    expect(() => localDayWindows('UTC', 7, 7)).toThrow('offset')
    expect(() => localHourWindows('UTC', 5)).toThrow('divide a day')
  })
})
