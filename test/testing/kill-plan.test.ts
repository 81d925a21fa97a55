import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import { drawKills } from '../../src/testing/kill-plan.ts'

describe('kills of a run', () => {
  it('come in the order of their checkpoints, each behind its own, from the first event to the end of input', () => {
    const events = 10
    const plans = Array.from({ length: 500 }, (_, seed) => drawKills(seededRandom(seed), events))
    for (const plan of plans) {
      expect(plan.length).toBeGreaterThanOrEqual(1)
      let before = 0
      for (const { checkpoint, kill } of plan) {
        expect(checkpoint).toBeGreaterThanOrEqual(before)
        expect(checkpoint).toBeLessThanOrEqual(events)
        expect(kill).toBeGreaterThanOrEqual(checkpoint)
        expect(kill).toBeLessThanOrEqual(events + 1)
        before = checkpoint
      }
    }
    const moments = plans.flat()
    expect(moments.some(({ checkpoint }) => checkpoint === 0)).toBe(true)
    expect(moments.some(({ kill }) => kill === events + 1)).toBe(true)
    expect(new Set(plans.map(({ length }) => length))).toEqual(new Set([1, 2, 3, 4]))
  })

  it('exist for no events, too', () => {
    for (const { checkpoint } of drawKills(seededRandom(1), 0)) expect(checkpoint).toBe(0)
  })
})
