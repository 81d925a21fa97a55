import { describe, expect, it } from 'vitest'
import { runningOrLate } from '../../../src/cli/serve/show-when-running.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

describe('runningOrLate', () => {
  it('waits until the job runs', async () => {
    const running = Promise.withResolvers<'RUNNING'>()
    let isOver = false
    const waiting = runningOrLate({ waitFor: () => running.promise }, new ManualClock()).then(
      () => {
        isOver = true
      },
    )
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    running.resolve('RUNNING')
    await waiting
  })

  it('waits no longer than a second for a job that restores', async () => {
    const clock = new ManualClock()
    const waiting = runningOrLate({ waitFor: () => new Promise(() => {}) }, clock)
    clock.advance(1000)
    await waiting
  })

  it('ends when the job cannot start', async () => {
    const failed = Promise.reject(new WeirError('ILLEGAL_STATE', 'the job is FAILED'))
    await runningOrLate({ waitFor: () => failed }, new ManualClock())
  })
})
