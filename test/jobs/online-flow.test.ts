import { describe, expect, it } from 'vitest'
import { LearningFlow } from '../../src/jobs/online-flow.ts'

function flows(): [LearningFlow, LearningFlow] {
  const buffer = LearningFlow.newBuffer()
  return [new LearningFlow(buffer), new LearningFlow(buffer)]
}

describe('ratings under way', () => {
  it('are let in up to the most, whoever counted them', () => {
    const [mine, other] = flows()
    for (let i = 0; i < 15; i++) other.enter()
    expect(mine.admits(16)).toBe(true)
    mine.enter()
    expect(mine.admits(16)).toBe(false)
  })

  it('are let in again once an eighth of the most has left', () => {
    const [mine, other] = flows()
    for (let i = 0; i < 16; i++) mine.enter()
    expect(mine.admits(16)).toBe(false)
    other.leave()
    expect(mine.admits(16)).toBe(false)
    other.leave()
    expect(mine.admits(16)).toBe(true)
    mine.enter()
    expect(mine.admits(16)).toBe(true)
  })

  it('come one by one where only one may be under way', () => {
    const [mine] = flows()
    mine.enter()
    expect(mine.admits(1)).toBe(false)
    mine.leave()
    expect(mine.admits(1)).toBe(true)
  })

  it('are never fewer than none', () => {
    const [mine] = flows()
    mine.leave()
    mine.enter()
    expect(mine.admits(1)).toBe(false)
  })
})
