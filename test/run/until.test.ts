import { describe, expect, it } from 'vitest'
import { until, untilPasses } from './until.ts'

describe('until', () => {
  it('returns what the condition returns at last, also 0 and an empty text', async () => {
    const answers = [false, undefined, null, 0]
    expect(await until('an answer', () => answers.shift())).toBe(0)
    expect(await until('a text', async () => '')).toBe('')
  })

  it('gives up with what did not hold', async () => {
    const never = until('the door is open', () => false, { timeoutMs: 20 })
    await expect(never).rejects.toThrow('not within 20 ms: the door is open')
    let looks = 0
    const counted = until(
      () => `look ${looks}`,
      () => {
        looks += 1
        return false
      },
      { timeoutMs: 0, everyMs: 0 },
    )
    await expect(counted).rejects.toThrow(/look [1-9]/)
  })

  it('fails at once when the condition throws', async () => {
    const broken = until('never', () => {
      throw new Error('broken')
    })
    await expect(broken).rejects.toThrow('broken')
  })

  it('looks the less often the longer it takes', async () => {
    let looks = 0
    const endMs = performance.now() + 600
    await until('the time is over', () => ++looks > 0 && performance.now() > endMs)
    // From 100 ms on, a twentieth of the time is more than 5 ms: there are 57, and every 5 ms there were 120.
    expect(looks).toBeLessThan(70)
  })

  it('lets what it waits for have a core: after a look it rests three times as long', async () => {
    const rests: number[] = []
    let lookedMs: number | undefined
    await until('five looks', () => {
      const nowMs = performance.now()
      if (lookedMs !== undefined) rests.push(nowMs - lookedMs)
      while (performance.now() < nowMs + 10);
      lookedMs = performance.now()
      return rests.length === 5
    })
    expect(Math.min(...rests)).toBeGreaterThan(25)
  })

  it('looks in each turn of the event loop where it waits 0 ms', async () => {
    let turns = 0
    let looks = 0
    const turn = (): void => {
      turns += 1
      if (turns < 50) setImmediate(turn)
    }
    setImmediate(turn)
    await until('50 turns', () => ++looks > 0 && turns >= 50, { everyMs: 0 })
    expect(looks).toBeGreaterThanOrEqual(50)
  })
})

describe('untilPasses', () => {
  it('looks until the check throws nothing', async () => {
    let looks = 0
    await untilPasses(() => {
      looks += 1
      expect(looks).toBe(3)
    })
    expect(looks).toBe(3)
  })
})
