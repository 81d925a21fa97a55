import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { reduceFold } from '../../../src/operators/folds/fold.ts'
import { globalWindows, tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { countEvictor, deltaEvictor, timeEvictor } from '../../../src/operators/windows/evictor.ts'
import { countTrigger } from '../../../src/operators/windows/trigger.ts'
import { type Event, feed, open } from './planned-windows.ts'

describe('evictors', () => {
  it('keep the last records, and what they remove leaves the state', async () => {
    const harness = await open({
      assigner: globalWindows(),
      trigger: countTrigger(2),
      evictor: countEvictor(3),
    })
    feed(harness, 'a', 1, 2, 3, 4, 5, 6)
    expect(harness.values).toEqual(['a: 1 2', 'a: 2 3 4', 'a: 4 5 6'])
  })

  it('after the function leave less for the next time', async () => {
    const harness = await open({
      assigner: globalWindows(),
      trigger: countTrigger(2),
      evictor: countEvictor(1, { after: true }),
    })
    feed(harness, 'a', 1, 2, 3, 4)
    expect(harness.values).toEqual(['a: 1 2', 'a: 2 3 4'])
  })

  it('by time count from the newest record', async () => {
    const harness = await open({
      assigner: tumblingEventTimeWindows(100),
      evictor: timeEvictor(20),
    })
    feed(harness, 'a', 60, 30, 40, 41)
    harness.endInput()
    expect(harness.values).toEqual(['a: 60 41'])
  })

  it('by distance compare with the last record', async () => {
    const distance = ([, a]: Event, [, b]: Event): number => Math.abs(a - b)
    const evictor = deltaEvictor<Event>(10, distance)
    const harness = await open({ assigner: tumblingEventTimeWindows(100), evictor })
    feed(harness, 'a', 60, 35, 49, 40)
    harness.endInput()
    expect(harness.values).toEqual(['a: 35 49 40'])
  })

  it('also stand before a reduction', async () => {
    const fold = reduceFold<Event>(([key, a], [, b]) => [key, a + b])
    const harness = await open({
      assigner: tumblingEventTimeWindows(100),
      evictor: countEvictor(2),
      fold: { fold, serializer: msgpackSerializer<unknown>() } as never,
    })
    feed(harness, 'a', 1, 2, 3)
    harness.endInput()
    expect(harness.values).toEqual(['a: 5'])
  })

  it('keep records as they came, whatever a function that reduces them changes', async () => {
    const fold = reduceFold<Event>((a, b) => {
      const changed = a as unknown as [string, number]
      changed[1] += b[1]
      return a
    })
    const harness = await open({
      assigner: globalWindows(),
      trigger: countTrigger(2),
      evictor: countEvictor(3),
      fold: { fold, serializer: msgpackSerializer<unknown>() } as never,
    })
    feed(harness, 'a', 1, 2, 3, 4, 5, 6)
    expect(harness.values).toEqual(['a: 3', 'a: 9', 'a: 15'])
  })
})
