import { describe, expect, it } from 'vitest'
import { StepSize } from '../../../src/runtime/pacing/step-size.ts'

describe('StepSize', () => {
  it('grows for fast operators up to its limit', () => {
    const size = new StepSize(256)
    for (let i = 0; i < 10; i++) size.observe(size.records, 0.001)
    expect(size.records).toBe(256)
  })

  it('shrinks to one record for an operator that takes a millisecond each', () => {
    const size = new StepSize(256)
    for (let i = 0; i < 3; i++) size.observe(size.records, size.records * 1)
    expect(size.records).toBe(1)
  })

  it('shrinks for an operator that emits very many records for each', () => {
    const size = new StepSize(256)
    size.observe(1, 0.001, 10_000)
    expect(size.records).toBe(1)
  })
})
