import { describe, expect, it } from 'vitest'
import { CallSequence } from '../../../src/runtime/pacing/call-sequence.ts'

describe('CallSequence', () => {
  it('runs a call only after the one before, even if that one fails', async () => {
    const sequence = new CallSequence()
    const events: string[] = []
    const first = Promise.withResolvers<void>()
    const failing = sequence.run(async () => {
      events.push('first')
      await first.promise
      throw new Error('broken')
    })
    const second = sequence.run(async () => events.push('second'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(events).toEqual(['first'])
    first.resolve()
    await expect(failing).rejects.toThrow('broken')
    await second
    expect(events).toEqual(['first', 'second'])
  })

  it('is idle until a call is made and again after the last one has settled', async () => {
    const sequence = new CallSequence()
    expect(sequence.idle).toBe(true)
    const call = sequence.run(async () => {})
    expect(sequence.idle).toBe(false)
    await call
    await new Promise((resolve) => setImmediate(resolve))
    expect(sequence.idle).toBe(true)
  })
})
