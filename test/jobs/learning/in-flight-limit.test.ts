import { describe, expect, it } from 'vitest'
import { InFlightLimit } from '../../../src/jobs/learning/in-flight-limit.ts'

/** The limits of two slots. */
function limits(most?: number): [InFlightLimit, InFlightLimit] {
  const buffer = InFlightLimit.newBuffer()
  return [new InFlightLimit(buffer, most), new InFlightLimit(buffer, most)]
}

describe('observations in flight', () => {
  it('are admitted up to the limit, whichever slot counted them', () => {
    const [mine, other] = limits(16)
    for (let i = 0; i < 15; i++) other.enter()
    expect(mine.admits()).toBe(true)
    mine.enter()
    expect(mine.admits()).toBe(false)
  })

  it('are admitted again after an eighth of the limit has left', () => {
    const [mine, other] = limits(16)
    for (let i = 0; i < 16; i++) mine.enter()
    expect(mine.admits()).toBe(false)
    other.leave()
    expect(mine.admits()).toBe(false)
    other.leave()
    expect(mine.admits()).toBe(true)
    mine.enter()
    expect(mine.admits()).toBe(true)
  })

  it('come one by one where the limit is one', () => {
    const [mine] = limits(1)
    mine.enter()
    expect(mine.admits()).toBe(false)
    mine.leave()
    expect(mine.admits()).toBe(true)
  })

  it('are never fewer than none', () => {
    const [mine] = limits(1)
    mine.leave()
    mine.enter()
    expect(mine.admits()).toBe(false)
  })

  it('are no more than the limit, though every slot found room at once', () => {
    const [mine, other] = limits(2)
    expect([mine.tryEnter(), other.tryEnter()]).toEqual([true, true])
    expect([mine.tryEnter(), other.tryEnter()]).toEqual([false, false])
    expect(mine.count).toBe(2)
    other.leave()
    expect([mine.tryEnter(), other.tryEnter()]).toEqual([true, false])
    expect(mine.count).toBe(2)
  })

  it('have the tag of their attempt, which is never 0', () => {
    const tagOf = (startMs: number): number =>
      new InFlightLimit(InFlightLimit.newBuffer(startMs)).attemptTag
    expect([0, 1, 65_534, 65_535].map(tagOf)).toEqual([1, 2, 65_535, 1])
    expect(new InFlightLimit(new SharedArrayBuffer(4)).attemptTag).toBe(0)
  })

  it('are all admitted without a limit', () => {
    const [mine] = limits()
    for (let i = 0; i < 1000; i++) mine.enter()
    expect(mine.admits()).toBe(true)
    expect(mine.count).toBe(1000)
  })
})
