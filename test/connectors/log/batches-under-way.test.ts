import { describe, expect, it } from 'vitest'
import { BatchesUnderWay } from '../../../src/connectors/log/batches-under-way.ts'

describe('batches under way', () => {
  it('let records go at once when no batch of their partition is under way', () => {
    const batches = new BatchesUnderWay(2, 1)
    batches.sent(1)
    expect(batches.lingered(0)).toBe(true)
  })

  it('keep records until the batch before has arrived', () => {
    const batches = new BatchesUnderWay(1, 1)
    batches.sent(0)
    expect(batches.lingered(0)).toBe(false)
    expect(batches.arrived(0)).toBe(true)
  })

  it('wait for the last of several batches', () => {
    const batches = new BatchesUnderWay(1, 1)
    batches.sent(0)
    batches.sent(0)
    batches.lingered(0)
    expect([batches.arrived(0), batches.arrived(0)]).toEqual([false, true])
  })

  it('let as many be under way as may be', () => {
    const batches = new BatchesUnderWay(1, 2)
    batches.sent(0)
    expect(batches.lingered(0)).toBe(true)
    batches.sent(0)
    expect(batches.lingered(0)).toBe(false)
    expect(batches.arrived(0)).toBe(true)
  })

  it('send nothing early: records whose linger time is not over stay when a batch arrives', () => {
    const batches = new BatchesUnderWay(1, 1)
    batches.sent(0)
    expect(batches.arrived(0)).toBe(false)
  })

  it('forget what was overdue when all records of the partition were sent for another reason', () => {
    const batches = new BatchesUnderWay(1, 1)
    batches.sent(0)
    batches.lingered(0)
    batches.sent(0)
    expect([batches.arrived(0), batches.arrived(0)]).toEqual([false, false])
  })
})
