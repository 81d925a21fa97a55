import { describe, expect, it } from 'vitest'
import { FailedCheckpoints } from '../../../src/cli/serve/report-restarts.ts'

describe('FailedCheckpoints', () => {
  it('reports the first failure at once, and then the number and the reason once a minute', () => {
    const failed = new FailedCheckpoints()
    expect(failed.textOf(0, 'denied')).toBe('warning: a checkpoint failed: denied')
    for (let second = 10; second < 60; second += 10) {
      expect(failed.textOf(second * 1000, 'denied')).toBeUndefined()
    }
    expect(failed.textOf(60_000, 'still denied')).toBe(
      'warning: 6 checkpoints failed: still denied',
    )
    expect(failed.textOf(61_000, 'denied')).toBeUndefined()
  })
})
