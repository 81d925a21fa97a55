import { describe, expect, it } from 'vitest'
import { SharedThread } from '../../../src/serving/catalog/shared-thread.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

describe('SharedThread', () => {
  it('is shared for 20 ms after it was seen to serve a short request', () => {
    const clock = new ManualClock()
    const thread = new SharedThread(clock)
    expect(thread.isShared()).toBe(false)
    thread.served()
    expect(thread.isShared()).toBe(true)
    clock.advance(19)
    expect(thread.isShared()).toBe(true)
    clock.advance(1)
    expect(thread.isShared()).toBe(false)
  })
})
