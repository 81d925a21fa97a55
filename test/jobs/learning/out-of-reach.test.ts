import { expect, it } from 'vitest'
import { isOutOfReachReport, OutOfReach } from '../../../src/jobs/learning/out-of-reach.ts'
import type { OperatorContext } from '../../../src/operators/port/operator.ts'

it('every observation is counted; the first one and each tenfold are reported', () => {
  const counter = {
    value: 0,
    increment() {
      this.value++
    },
  }
  const events: unknown[] = []
  const context = {
    sendEvent: (event: unknown) => events.push(event),
  } as unknown as OperatorContext
  const outOfReach = new OutOfReach(context, counter)
  for (let n = 0; n < 250; n++) outOfReach.add()
  expect(counter.value).toBe(250)
  expect(events).toEqual([1, 10, 100].map((count) => ({ kind: 'out-of-reach', count })))
  expect(events.every(isOutOfReachReport)).toBe(true)
  expect(isOutOfReachReport({ kind: 'gate-opened' })).toBe(false)
})
