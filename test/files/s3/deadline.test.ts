import { describe, expect, it } from 'vitest'
import { Deadline } from '../../../src/files/s3/deadline.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

describe('the deadline of a request', () => {
  it('is the longest silence, and a second for each 64 kB that is sent', async () => {
    const clock = new ManualClock(0)
    const deadline = new Deadline(clock, 20_000, 640_000)
    const limited = deadline.limit(new Promise(() => {}))
    clock.advance(29_999)
    expect(deadline.signal.aborted).toBe(false)
    clock.advance(1)
    await expect(limited).rejects.toMatchObject({
      name: 'TimeoutError',
      message: 'no whole answer within 30 s',
    })
    expect(deadline.signal.aborted).toBe(true)
  })

  it('begins again with the length of an answer: a server that drips does not hold a request', () => {
    const clock = new ManualClock(0)
    const deadline = new Deadline(clock, 20_000, 0)
    clock.advance(19_000)
    deadline.allow(64_000)
    clock.advance(20_999)
    expect(deadline.signal.aborted).toBe(false)
    clock.advance(1)
    expect(deadline.signal.aborted).toBe(true)
  })

  it('is over when the request is done', async () => {
    const clock = new ManualClock(0)
    const deadline = new Deadline(clock, 20_000, 0)
    expect(await deadline.limit(Promise.resolve('done'))).toBe('done')
    deadline.end()
    clock.advance(60_000)
    expect(deadline.signal.aborted).toBe(false)
  })
})
