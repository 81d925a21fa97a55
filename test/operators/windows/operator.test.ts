import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { aggregateFold, reduceFold } from '../../../src/operators/folds/fold.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import {
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
} from '../../../src/operators/windows/assigner.ts'
import { FoldedContents } from '../../../src/operators/windows/contents.ts'
import { type Event, event, feed, open, openListing } from './windowed-events.ts'

describe('tumbling windows', () => {
  it('fire when the watermark passes their last moment, which is the timestamp of the result', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10))
    feed(harness, event(3), event(12), event(9))
    harness.watermark(8)
    expect(harness.values).toEqual([])
    harness.watermark(9)
    expect(harness.outputs).toEqual([{ value: ['a', 0, 10, [3, 9]], timestamp: 9 }])
    harness.endInput()
    expect(harness.values.at(-1)).toEqual(['a', 10, 20, [12]])
  })

  it('keep keys apart', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10))
    feed(harness, event(1, 1, 'a'), event(2, 2, 'b'), event(3, 3, 'a'))
    harness.watermark(10)
    expect(new Set(harness.values)).toEqual(
      new Set([
        ['a', 0, 10, [1, 3]],
        ['b', 0, 10, [2]],
      ]),
    )
  })

  it('begin at the offset, also before the epoch', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10, 3))
    feed(harness, event(2), event(3), event(-8))
    harness.endInput()
    expect(harness.values.map(([, start, end]) => [start, end])).toEqual([
      [-17, -7],
      [-7, 3],
      [3, 13],
    ])
  })

  it('give results a timestamp where they end with 1969, whose last millisecond stands for none', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10))
    feed(harness, event(-3))
    harness.endInput()
    expect(harness.outputs).toEqual([{ value: ['a', -10, 0, [-3]], timestamp: -2 }])
  })

  it('store one reduced value and emit it', async () => {
    const sum = reduceFold<Event>((a, b) => ({ ...b, amount: a.amount + b.amount }))
    const contents = new FoldedContents<Event, Event>(sum, msgpackSerializer())
    const harness = await open<Event>(tumblingEventTimeWindows(10), contents, undefined)
    feed(harness, event(1), event(2), event(4))
    harness.endInput()
    expect(harness.values.map((each) => each.amount)).toEqual([7])
  })

  it('pass the result of an aggregation to the window function', async () => {
    const mean = aggregateFold<Event, [number, number], number>({
      createAccumulator: () => [0, 0],
      add: (each, [sum, count]) => [sum + each.amount, count + 1],
      getResult: ([sum, count]) => sum / count,
      merge: (a, b) => [a[0] + b[0], a[1] + b[1]],
    })
    const contents = new FoldedContents(mean, msgpackSerializer<[number, number]>())
    const harness = await open<string>(tumblingEventTimeWindows(10), contents, {
      process: (key, { window }, [value], out) => out.collect(`${key}@${window.start}: ${value}`),
    })
    feed(harness, event(1), event(2), event(6))
    harness.endInput()
    expect(harness.values).toEqual(['a@0: 3'])
  })

  it('drop and count a record that comes after the end of its window', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10))
    harness.watermark(9)
    feed(harness, event(9), event(10))
    harness.endInput()
    expect(harness.values).toEqual([['a', 10, 20, [10]]])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })

  it('send late records to the side output, if any, with their own timestamp', async () => {
    const late = new OutputTag<Event>('late')
    const harness = await openListing(tumblingEventTimeWindows(10), { late })
    harness.watermark(9)
    feed(harness, event(7))
    expect(harness.sideOutput(late)).toEqual([{ value: event(7), timestamp: 7 }])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(0)
  })

  it('fire again for every record within the allowed lateness, and not after it', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10), { lateness: 5 })
    feed(harness, event(1))
    harness.watermark(9)
    feed(harness, event(2))
    harness.watermark(13)
    feed(harness, event(3))
    harness.watermark(14)
    feed(harness, event(4))
    expect(harness.values.map(([, , , amounts]) => amounts)).toEqual([[1], [1, 2], [1, 2, 3]])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })

  it('leave nothing in state once they are cleared', async () => {
    const harness = await openListing(tumblingEventTimeWindows(10), { lateness: 5 })
    feed(harness, event(1), event(2, 2, 'b'))
    expect((await harness.snapshot()).entries.length).toBeGreaterThan(0)
    harness.watermark(14)
    expect((await harness.snapshot(2)).entries).toEqual([])
  })

  it('follow the wall clock in processing time', async () => {
    const harness = await openListing(tumblingProcessingTimeWindows(10))
    feed(harness, event(900))
    harness.advanceTime(4)
    feed(harness, event(1))
    harness.advanceTime(4)
    expect(harness.values).toEqual([])
    harness.advanceTime(2)
    feed(harness, event(5))
    harness.advanceTime(10)
    expect(harness.values).toEqual([
      ['a', 0, 10, [900, 1]],
      ['a', 10, 20, [5]],
    ])
  })
})

describe('sliding windows', () => {
  it('store a record in every window that contains it', async () => {
    const harness = await openListing(slidingEventTimeWindows(10, 5))
    feed(harness, event(7))
    harness.endInput()
    expect(harness.values).toEqual([
      ['a', 0, 10, [7]],
      ['a', 5, 15, [7]],
    ])
  })

  it('drop a record only when all its windows are past', async () => {
    const harness = await openListing(slidingEventTimeWindows(10, 5))
    harness.watermark(9)
    feed(harness, event(7))
    harness.watermark(14)
    feed(harness, event(8))
    expect(harness.values).toEqual([['a', 5, 15, [7]]])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })
})
