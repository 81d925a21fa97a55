import { describe, expect, it } from 'vitest'
import { isStable } from '../../../../src/testing/load/measurement/stability.ts'
import { windowOf } from './scripted-generator.ts'

const TEN = { judged: 'mean', percentage: 10 } as const

describe('isStable', () => {
  it('needs three windows', () => {
    expect(isStable([windowOf(10, 1), windowOf(10, 1)], TEN)).toBe(false)
    expect(isStable([windowOf(10, 1), windowOf(10, 1), windowOf(10, 1)], TEN)).toBe(true)
  })

  it('compares the highest with the lowest of the last three, throughput and latency', () => {
    const windows = (rates: number[], latencies: number[]) =>
      rates.map((rate, i) => windowOf(rate, latencies[i]!))
    expect(isStable(windows([500, 100, 105, 110], [1, 1, 1, 1]), TEN)).toBe(true)
    expect(isStable(windows([100, 105, 111], [1, 1, 1]), TEN)).toBe(false)
    expect(isStable(windows([100, 100, 100], [1, 1.05, 1.2]), TEN)).toBe(false)
    const wide = { ...TEN, percentage: 25 }
    expect(isStable(windows([100, 100, 100], [1, 1.05, 1.2]), wide)).toBe(true)
  })

  it('is never reached without answers', () => {
    expect(isStable([windowOf(0, 0), windowOf(0, 0), windowOf(0, 0)], TEN)).toBe(false)
  })
})
