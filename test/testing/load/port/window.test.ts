import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../../src/core/errors.ts'
import { LatencyHistogram } from '../../../../src/testing/load/port/latency-histogram.ts'
import { ANSWERED, ANSWERED_COLD, outcomeOf } from '../../../../src/testing/load/port/target.ts'
import {
  failedIn,
  joinWindows,
  LoadRecorder,
  type LoadWindow,
  overlayWindows,
} from '../../../../src/testing/load/port/window.ts'

const countOf = ({ latency }: LoadWindow): number => {
  const histogram = new LatencyHistogram()
  histogram.add(latency)
  return histogram.count
}

describe('LoadRecorder', () => {
  it('counts failures by code, and refusals for load apart', () => {
    const recorder = new LoadRecorder()
    for (const code of ['OVERLOADED', 'OVERLOADED', 'UNKNOWN_KEY'] as const) {
      recorder.sent(0)
      recorder.ended(outcomeOf(new WeirError(code, `${code} it is`)), 0.01)
    }
    const window = recorder.take(1000, 10)
    expect(window).toMatchObject({ sent: 3, ok: 0, rejected: 2, durationMs: 1000, busyMs: 10 })
    expect(window.failures).toEqual({
      OVERLOADED: { count: 2, message: 'OVERLOADED it is' },
      UNKNOWN_KEY: { count: 1, message: 'UNKNOWN_KEY it is' },
    })
    expect(failedIn(window)).toBe(3)
  })

  it('leaves fast failures out of the latencies, but not requests that got no answer in their time', () => {
    const recorder = new LoadRecorder()
    recorder.ended(ANSWERED, 1)
    recorder.ended(outcomeOf(new WeirError('OVERLOADED', '')), 0.01)
    recorder.ended(outcomeOf(new WeirError('DEADLINE_EXCEEDED', '')), 5000)
    const window = recorder.take(1000, 0)
    expect(countOf(window)).toBe(2)
    expect(window.latency.maxMs).toBe(5000)
  })

  it('counts late sends and answers from mean rows, and starts again with each window', () => {
    const recorder = new LoadRecorder()
    for (const lateness of [0, 0.9, 3, 7]) recorder.sent(lateness)
    recorder.sentHeldBack()
    recorder.ended(ANSWERED_COLD, 2)
    expect(recorder.take(10, 0)).toMatchObject({
      sent: 5,
      late: 2,
      maxLatenessMs: 7,
      heldBack: 1,
      ok: 1,
      cold: 1,
    })
    const empty = recorder.take(10, 0)
    expect(empty).toEqual(new LoadRecorder().take(10, 0))
  })
})

describe('windows', () => {
  const window = (ok: number, durationMs: number): LoadWindow => {
    const recorder = new LoadRecorder()
    for (let i = 0; i < ok; i++) {
      recorder.sent(i)
      recorder.ended(ANSWERED, i + 1)
    }
    recorder.ended(outcomeOf(new WeirError('UNAVAILABLE', `of ${ok}`)), 1)
    return recorder.take(durationMs, durationMs / 2)
  }

  it('one after the other add their durations', () => {
    const joined = joinWindows([window(3, 1000), window(5, 500)])
    expect(joined).toMatchObject({ ok: 8, sent: 8, durationMs: 1500, busyMs: 750, late: 4 })
    expect(joined.failures).toEqual({ UNAVAILABLE: { count: 2, message: 'of 3' } })
    expect(joined.maxLatenessMs).toBe(4)
    expect(countOf(joined)).toBe(8)
  })

  it('of threads at the same time have the mean of their durations', () => {
    expect(overlayWindows([window(3, 1000), window(5, 1002)])).toMatchObject({
      ok: 8,
      durationMs: 1001,
      busyMs: 500.5,
    })
  })
})
