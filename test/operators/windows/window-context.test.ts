import { describe, expect, it } from 'vitest'
import {
  eventTimeSessionWindows,
  tumblingEventTimeWindows,
} from '../../../src/operators/windows/assigner.ts'
import type { ProcessWindowFunction } from '../../../src/operators/windows/function.ts'
import { eventTimeTrigger } from '../../../src/operators/windows/trigger.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import { type Event, feed, open, type Plan } from './planned-windows.ts'

describe('state of window functions', () => {
  const fired = valueState<number>('fired')

  const counting: ProcessWindowFunction<string, Event, string> = {
    open: (context) => {
      context.windowState().getState(fired)
      context.globalState().getState(fired)
    },
    process: (key, context, elements, out) => {
      const ofWindow = context.windowState().getState(fired)
      const ofKey = context.globalState().getState(fired)
      ofWindow.update((ofWindow.value() ?? 0) + 1)
      ofKey.update((ofKey.value() ?? 0) + 1)
      out.collect(`${key} ${elements.length} ${ofWindow.value()} ${ofKey.value()}`)
    },
    clear: (context) => context.windowState().getState(fired).clear(),
  }

  for (const trigger of [undefined, eventTimeTrigger()]) {
    it(`is one of the window and one of the key (${trigger ? 'own' : 'default'} trigger)`, async () => {
      const plan: Plan = {
        assigner: tumblingEventTimeWindows(10),
        allowedLatenessMs: 5,
        ...(trigger === undefined ? {} : { trigger }),
      }
      const first = await open(plan, {}, counting)
      feed(first, 'a', 1)
      first.watermark(9)
      feed(first, 'a', 2, 11)
      const second = await open(plan, { restore: [await first.snapshot()] }, counting)
      second.watermark(9)
      feed(second, 'a', 3)
      second.watermark(30)
      expect([...first.values, ...second.values]).toEqual([
        'a 1 1 1',
        'a 2 2 2',
        'a 3 3 3',
        'a 1 1 4',
      ])
      const { entries } = await second.snapshot()
      expect(entries.map(({ state }) => state)).toEqual(['global/fired'])
    })
  }

  it('of a window is refused on sessions, which merge', async () => {
    await expect(async () => {
      await open({ assigner: eventTimeSessionWindows(10) }, {}, counting)
    }).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})
