import { describe, expect, it } from 'vitest'
import { constantRate, latencyOf, SimulatedTarget } from './simulated-target.ts'

/** A server that takes 2 ms, and nothing between the first and the second second. */
const stallingMs = (nowMs: number): number => (nowMs >= 1000 && nowMs < 2000 ? 2000 - nowMs + 2 : 2)

describe('OpenLoop', () => {
  it('shows the stall of a server in every request that was due meanwhile', async () => {
    const window = await new SimulatedTarget(stallingMs).underLoad(constantRate(100), 4000)
    const latency = latencyOf(window)
    expect(window.sent).toBe(400)
    expect(window.ok).toBe(400)
    expect(latency.maxMs).toBeCloseTo(1002, 0)
    // A quarter of the requests was due in the stall; their latencies are spread over its second.
    expect(latency.percentileMs(74)).toBeLessThan(3)
    expect(latency.percentileMs(87.5)).toBeGreaterThan(480)
    expect(latency.percentileMs(87.5)).toBeLessThan(530)
    expect(latency.percentileMs(99)).toBeGreaterThan(930)
    expect(window.late).toBe(0)
  })

  it('counts from the time at which a request was due when the generator itself stalls, and says so', async () => {
    const target = new SimulatedTarget(() => 1)
    let isStalled = false
    const pauseMs = () => {
      // From 100 ms on the generator gets no turn for 200 ms.
      if (isStalled || target.clock.monotonicMs() < 100) return 0
      isStalled = true
      return 200
    }
    const window = await target.underLoad(constantRate(100), 500, { pauseMs })
    expect(window.sent).toBe(50)
    expect(window.late).toBeGreaterThanOrEqual(19)
    expect(window.late).toBeLessThanOrEqual(21)
    expect(window.maxLatenessMs).toBeGreaterThan(180)
    expect(latencyOf(window).maxMs).toBeGreaterThan(window.maxLatenessMs)
  })

  it('holds requests back when too many wait, with their time running, and does not call itself late', async () => {
    const target = new SimulatedTarget((nowMs) => (nowMs < 500 ? 500 - nowMs : 1))
    const window = await target.underLoad(constantRate(100), 1000, { maxOutstanding: 10 })
    expect(window.sent).toBe(100)
    expect(window.ok).toBe(100)
    expect(window.heldBack).toBeGreaterThanOrEqual(38)
    expect(window.heldBack).toBeLessThanOrEqual(41)
    expect(window.late).toBe(0)
    // The eleventh request was due at 110 ms and answered after 500 ms.
    expect(latencyOf(window).percentileMs(90)).toBeGreaterThan(385)
  })

  it('ends by itself after its limit, and after the last request of a trace', async () => {
    const fast = () => 1
    const limited = await new SimulatedTarget(fast).underLoad(constantRate(100), 400, { limit: 7 })
    expect(limited).toMatchObject({ sent: 7, ok: 7 })
    const offsetsMs = Float64Array.of(0, 0, 3, 250)
    const trace = await new SimulatedTarget(fast).underLoad({ kind: 'trace', offsetsMs }, 400)
    expect(trace).toMatchObject({ sent: 4, ok: 4, late: 0 })
  })
})
