import { describe, expect, it } from 'vitest'
import { InFlightBatches } from '../../../src/connectors/records/in-flight-batches.ts'

describe('batches in flight', () => {
  it('let records go immediately when no batch of their partition is in flight', () => {
    const batches = new InFlightBatches(2, 1)
    batches.sent(1)
    expect(batches.lingerElapsed(0)).toBe(true)
  })

  it('keep records until the batch before is complete', () => {
    const batches = new InFlightBatches(1, 1)
    batches.sent(0)
    expect(batches.lingerElapsed(0)).toBe(false)
    expect(batches.completed(0)).toBe(true)
  })

  it('keep records until the last of several batches is complete', () => {
    const batches = new InFlightBatches(1, 1)
    batches.sent(0)
    batches.sent(0)
    batches.lingerElapsed(0)
    expect([batches.completed(0), batches.completed(0)]).toEqual([false, true])
  })

  it('allow the maximum number of batches', () => {
    const batches = new InFlightBatches(1, 2)
    batches.sent(0)
    expect(batches.lingerElapsed(0)).toBe(true)
    batches.sent(0)
    expect(batches.lingerElapsed(0)).toBe(false)
    expect(batches.completed(0)).toBe(true)
  })

  it('send nothing early: records whose linger time is not over stay when a batch is complete', () => {
    const batches = new InFlightBatches(1, 1)
    batches.sent(0)
    expect(batches.completed(0)).toBe(false)
  })

  it('clear what was overdue when all records of the partition were sent for another reason', () => {
    const batches = new InFlightBatches(1, 1)
    batches.sent(0)
    batches.lingerElapsed(0)
    batches.sent(0)
    expect([batches.completed(0), batches.completed(0)]).toEqual([false, false])
  })
})
