import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { reduceFold } from '../../../src/operators/folds/fold.ts'
import {
  dynamicEventTimeSessionWindows,
  eventTimeSessionWindows,
  processingTimeSessionWindows,
} from '../../../src/operators/windows/assigner.ts'
import { FoldedContents } from '../../../src/operators/windows/contents.ts'
import type { ProcessWindowFunction } from '../../../src/operators/windows/function.ts'
import { type Event, event, feed, open, openListing } from './windowed-events.ts'

describe('session windows with a gap of each record', () => {
  const gapOfAmount = dynamicEventTimeSessionWindows<Event>(({ amount }) => amount)

  it('end after the latest gap of their records', async () => {
    const harness = await openListing(gapOfAmount)
    feed(harness, event(0, 20), event(5, 3), event(19, 2), event(22, 1))
    harness.endInput()
    expect(harness.values).toEqual([
      ['a', 0, 21, [20, 3, 2]],
      ['a', 22, 23, [1]],
    ])
  })

  it.each([0, -1, 0.5])('refuse a gap of %d', async (gap) => {
    const harness = await openListing(gapOfAmount)
    expect(() => feed(harness, event(0, gap))).toThrow('the gap of a session is a whole number')
  })
})

describe('session windows', () => {
  it('end after one gap without records', async () => {
    const harness = await openListing(eventTimeSessionWindows(10))
    feed(harness, event(0), event(8), event(30))
    harness.endInput()
    expect(harness.values).toEqual([
      ['a', 0, 18, [0, 8]],
      ['a', 30, 40, [30]],
    ])
  })

  it('become one when a record connects them; touching counts as overlap', async () => {
    const harness = await openListing(eventTimeSessionWindows(10))
    feed(harness, event(0), event(20), event(10))
    harness.endInput()
    expect(harness.values).toHaveLength(1)
    const [key, start, end, amounts] = harness.values[0]!
    expect([key, start, end, [...amounts].sort((a, b) => a - b)]).toEqual(['a', 0, 30, [0, 10, 20]])
  })

  it('merge the folded contents of sessions that a record connects', async () => {
    const sum = reduceFold<Event>((a, b) => ({ ...a, amount: a.amount + b.amount }))
    const contents = new FoldedContents<Event, Event>(sum, msgpackSerializer())
    const total: ProcessWindowFunction<string, Event, number> = {
      process: (_key, _context, elements, out) => out.collect(elements[0]!.amount),
    }
    const harness = await open<number>(eventTimeSessionWindows(10), contents, total)
    feed(harness, event(0, 1), event(18, 2), event(36, 4), event(9, 8), event(27, 16))
    harness.endInput()
    expect(harness.values).toEqual([31])
  })

  it('accept a late record that touches an open session, and drop one that does not', async () => {
    const harness = await openListing(eventTimeSessionWindows(10))
    feed(harness, event(20))
    harness.watermark(25)
    feed(harness, event(12), event(1))
    harness.endInput()
    expect(harness.values).toEqual([['a', 12, 30, [20, 12]]])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })

  it('fire again when a late record extends a session within the allowed lateness', async () => {
    const harness = await openListing(eventTimeSessionWindows(10), { lateness: 20 })
    feed(harness, event(0))
    harness.watermark(12)
    feed(harness, event(2))
    expect(harness.values).toEqual([
      ['a', 0, 10, [0]],
      ['a', 0, 12, [0, 2]],
    ])
    harness.watermark(31)
    expect((await harness.snapshot()).entries).toEqual([])
  })

  it('follow the wall clock in processing time', async () => {
    const harness = await openListing(processingTimeSessionWindows(10))
    feed(harness, event(1))
    harness.advanceTime(8)
    feed(harness, event(2))
    harness.advanceTime(8)
    expect(harness.values).toEqual([])
    harness.advanceTime(2)
    expect(harness.values).toEqual([['a', 0, 18, [1, 2]]])
  })
})
