import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../../src/core/errors.ts'
import { outcomeOf } from '../../../../src/testing/load/port/target.ts'
import { latencyOf, SimulatedTarget } from './simulated-target.ts'

describe('ClosedLoop', () => {
  it('keeps as many requests outstanding as it has callers', async () => {
    const window = await new SimulatedTarget(() => 10).underLoad(
      { kind: 'concurrency', callers: 4 },
      1000,
    )
    expect(window.ok).toBeGreaterThanOrEqual(396)
    expect(window.ok).toBeLessThanOrEqual(404)
    expect(latencyOf(window).percentileMs(50)).toBeCloseTo(10, 0)
  })

  it('sends exactly the requests of its limit', async () => {
    const load = { kind: 'concurrency', callers: 4 } as const
    const window = await new SimulatedTarget(() => 10).underLoad(load, 500, { limit: 10 })
    expect(window).toMatchObject({ sent: 10, ok: 10 })
  })

  it('shares callers and limit out among threads, also when there are fewer callers', async () => {
    for (const callers of [1, 2, 5]) {
      const sent = await Promise.all(
        [0, 1, 2].map(async (thread) => {
          const share = { thread, threads: 3 }
          const target = new SimulatedTarget(() => 10)
          const load = { kind: 'concurrency', callers } as const
          return (await target.underLoad(load, 500, { limit: 20, share })).sent
        }),
      )
      expect(sent.reduce((sum, count) => sum + count, 0)).toBe(20)
      expect(sent.filter((count) => count > 0)).toHaveLength(Math.min(3, callers))
    }
  })

  it('does not ask a server that refuses at once in a busy loop', async () => {
    const refused = outcomeOf(new WeirError('UNAVAILABLE', 'refused'))
    const target = new SimulatedTarget(() => 0, refused)
    const window = await target.underLoad({ kind: 'concurrency', callers: 1 }, 500)
    expect(window.failures).toMatchObject({ UNAVAILABLE: { message: 'refused' } })
    expect(target.requests).toBeGreaterThan(50)
    expect(target.requests).toBeLessThanOrEqual(101)
  })
})
