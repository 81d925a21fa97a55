import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { reduceFold } from '../../../src/operators/folds/fold.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import {
  eventTimeSessionWindows,
  globalWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
} from '../../../src/operators/windows/assigner.ts'
import {
  continuousEventTimeTrigger,
  continuousProcessingTimeTrigger,
} from '../../../src/operators/windows/continuous-trigger.ts'
import {
  countTrigger,
  deltaTrigger,
  eventTimeTrigger,
  processingTimeTrigger,
  purgingTrigger,
  type Trigger,
} from '../../../src/operators/windows/trigger.ts'
import { type Event, feed, open, type Plan } from './planned-windows.ts'

describe('global windows', () => {
  it('never fire without a trigger', async () => {
    const harness = await open({ assigner: globalWindows() })
    feed(harness, 'a', 1, 2, 3)
    harness.endInput()
    expect(harness.values).toEqual([])
  })

  it('keep what fired: FIRE leaves the contents, at the time of the last record', async () => {
    const harness = await open({ assigner: globalWindows(), trigger: countTrigger(2) })
    feed(harness, 'a', 1, 2, 3)
    feed(harness, 'b', 9)
    feed(harness, 'a', 4)
    expect(harness.outputs).toEqual([
      { value: 'a: 1 2', timestamp: 2 },
      { value: 'a: 1 2 3 4', timestamp: 4 },
    ])
  })

  it('drop what fired with a purging trigger', async () => {
    const trigger = purgingTrigger(countTrigger(2))
    const harness = await open({ assigner: globalWindows(), trigger })
    feed(harness, 'a', 1, 2, 3, 4)
    expect(harness.values).toEqual(['a: 1 2', 'a: 3 4'])
    expect((await harness.snapshot()).entries).toEqual([])
  })

  it('fire by the distance from the record that fired last', async () => {
    const trigger = deltaTrigger<Event>(10, ([, before], [, time]) => time - before)
    const harness = await open({ assigner: globalWindows(), trigger: purgingTrigger(trigger) })
    feed(harness, 'a', 1, 5, 11, 12, 22, 23)
    expect(harness.values).toEqual(['a: 1 5 11 12', 'a: 22 23'])
  })

  it('fold a record once, whatever the trigger does', async () => {
    let calls = 0
    const fold = reduceFold<Event>(([key, a], [, b]) => {
      calls += 1
      return [key, a + b]
    })
    const harness = await open({
      assigner: globalWindows(),
      trigger: countTrigger(2),
      fold: { fold, serializer: msgpackSerializer<unknown>() } as never,
    })
    feed(harness, 'a', 1, 2, 3, 4)
    expect(harness.values).toEqual(['a: 3', 'a: 10'])
    expect(calls).toBe(3)
  })
})

describe('triggers', () => {
  it('of event time, set by hand, do what the default one does', async () => {
    const late = new OutputTag<Event>('late')
    const run = async (trigger: Trigger<unknown> | undefined): Promise<unknown> => {
      const harness = await open({
        assigner: slidingEventTimeWindows(10, 5),
        allowedLatenessMs: 4,
        lateDataTag: late,
        trigger,
      })
      feed(harness, 'a', 3, 7, 12)
      harness.watermark(9)
      feed(harness, 'a', 8)
      harness.watermark(18)
      feed(harness, 'a', 8)
      feed(harness, 'a', 1)
      harness.endInput()
      expect((await harness.snapshot()).entries).toEqual([])
      return [harness.outputs, harness.sideOutput(late)]
    }
    expect(await run(eventTimeTrigger())).toEqual(await run(undefined))
  })

  it('of event time fire a merged session once, at its new end', async () => {
    const run = async (trigger: Trigger<unknown> | undefined): Promise<unknown> => {
      const harness = await open({ assigner: eventTimeSessionWindows(10), trigger })
      feed(harness, 'a', 0, 20, 10, 50)
      harness.watermark(25)
      feed(harness, 'a', 29)
      harness.endInput()
      expect((await harness.snapshot()).entries).toEqual([])
      return harness.outputs.map(({ value, timestamp }) => [value.length, timestamp])
    }
    expect(await run(eventTimeTrigger())).toEqual(await run(undefined))
  })

  it('of processing time, set by hand, do what the default one does', async () => {
    const run = async (trigger: Trigger<unknown> | undefined): Promise<unknown> => {
      const harness = await open({ assigner: tumblingProcessingTimeWindows(10), trigger })
      feed(harness, 'a', 1, 2)
      harness.advanceTime(9)
      harness.advanceTime(3)
      feed(harness, 'a', 3)
      harness.advanceTime(10)
      expect((await harness.snapshot()).entries).toEqual([])
      return harness.outputs
    }
    expect(await run(processingTimeTrigger())).toEqual(await run(undefined))
  })

  it('that count add up the counts of sessions that merge', async () => {
    const trigger = countTrigger(4)
    const harness = await open({ assigner: eventTimeSessionWindows(10), trigger })
    feed(harness, 'a', 0, 1, 20)
    expect(harness.values).toEqual([])
    feed(harness, 'a', 10)
    expect(harness.values).toEqual(['a: 0 1 20 10'])
  })

  it('that fire in intervals of event time fire early, at the end, and for late records', async () => {
    const harness = await open({
      assigner: tumblingEventTimeWindows(100),
      trigger: continuousEventTimeTrigger(30),
      allowedLatenessMs: 10,
    })
    feed(harness, 'a', 5, 40)
    harness.watermark(30)
    harness.watermark(59)
    feed(harness, 'a', 70)
    harness.watermark(99)
    feed(harness, 'a', 80)
    harness.watermark(109)
    expect(harness.values).toEqual([
      'a: 5 40',
      'a: 5 40 70',
      'a: 5 40 70',
      'a: 5 40 70',
      'a: 5 40 70 80',
    ])
    expect((await harness.snapshot()).entries).toEqual([])
  })

  it('that fire in intervals of the wall clock fire while the window is there', async () => {
    const harness = await open({
      assigner: tumblingProcessingTimeWindows(10),
      trigger: continuousProcessingTimeTrigger(4),
    })
    feed(harness, 'a', 1)
    harness.advanceTime(4)
    feed(harness, 'a', 2)
    harness.advanceTime(4)
    harness.advanceTime(1)
    expect(harness.values).toEqual(['a: 1', 'a: 1 2', 'a: 1 2'])
    expect((await harness.snapshot()).entries).toEqual([])
  })

  it('that purge leave nothing to fire at the end of the window', async () => {
    const trigger: Trigger<Event> = {
      ...eventTimeTrigger(),
      onElement: (element, timestamp, window, context) =>
        element[1] === 5
          ? 'PURGE'
          : eventTimeTrigger().onElement(element, timestamp, window, context),
    }
    const harness = await open({ assigner: tumblingEventTimeWindows(10), trigger })
    feed(harness, 'a', 1, 5)
    feed(harness, 'b', 1, 5, 7)
    harness.endInput()
    expect(harness.values).toEqual(['b: 7'])
  })

  it('keep their state and timers through a restore at another parallelism', async () => {
    const plan: Plan = {
      assigner: tumblingEventTimeWindows(100),
      trigger: purgingTrigger(continuousEventTimeTrigger(30)),
    }
    const names = ['a', 'b', 'c', 'd', 'e']
    const first = await open(plan)
    for (const key of names) feed(first, key, 5)
    const restore = [await first.snapshot()]
    const results: string[] = []
    for (let subtask = 0; subtask < 3; subtask++) {
      const harness = await open(plan, { restore, subtask, parallelism: 3 })
      harness.watermark(30)
      results.push(...harness.values)
    }
    expect(results.sort()).toEqual(names.map((key) => `${key}: 5`))
  })

  it('that count go on counting after a restore at another parallelism', async () => {
    const plan: Plan = { assigner: globalWindows(), trigger: purgingTrigger(countTrigger(3)) }
    const names = ['a', 'b', 'c', 'd', 'e']
    const first = await open(plan)
    for (const key of names) feed(first, key, 1, 2)
    const restore = [await first.snapshot()]
    const results: string[] = []
    for (let subtask = 0; subtask < 2; subtask++) {
      const harness = await open(plan, { restore, subtask, parallelism: 2 })
      for (const key of names) {
        try {
          feed(harness, key, 3)
        } catch (error) {
          expect(error).toMatchObject({ code: 'NOT_OWNER' })
        }
      }
      results.push(...harness.values)
    }
    expect(results.sort()).toEqual(names.map((key) => `${key}: 1 2 3`))
  })
})

describe('the operators of default windows against the triggered one, on random late input', () => {
  const windows = {
    sessions: eventTimeSessionWindows(10),
    'sliding windows': slidingEventTimeWindows(20, 5),
  }
  for (const [name, assigner] of Object.entries(windows)) {
    for (const seed of [1, 2, 3, 4]) {
      it(`fire the same ${name}, and leave nothing (seed ${seed})`, async () => {
        const run = async (trigger: Trigger<unknown> | undefined): Promise<unknown> => {
          const random = seededRandom(seed)
          const plan: Plan = { assigner, trigger, allowedLatenessMs: random.below(2) * 15 }
          let harness = await open(plan)
          const fired: unknown[] = []
          for (let step = 0; step < 400; step++) {
            const time = step + random.below(60)
            feed(harness, `key-${random.below(3)}`, time)
            if (random.below(4) === 0) harness.watermark(step + random.below(30))
            if (step !== 200) continue
            fired.push(...harness.outputs)
            harness = await open(plan, { restore: [await harness.snapshot()] })
            harness.watermark(step + 30)
          }
          harness.endInput()
          expect((await harness.snapshot()).entries).toEqual([])
          fired.push(...harness.outputs)
          return fired
            .map((each) => JSON.stringify(each))
            .sort()
            .concat(String(harness.metrics.counter('numLateRecordsDropped').value))
        }
        expect(await run(undefined)).toEqual(await run(eventTimeTrigger()))
      })
    }
  }
})
