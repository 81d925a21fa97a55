import { describe, expect, it } from 'vitest'
import { ProgressCombiner } from '../../src/runtime/progress-combiner.ts'

describe('ProgressCombiner', () => {
  it('takes the report of the one sender that has the partition', () => {
    const combiner = new ProgressCombiner([{ single: true, senders: 3 }])
    expect(combiner.report(0, 2, 7, 100, 5)).toEqual({ nextOffset: 100, asOfMs: 5 })
  })

  it('waits for every sender behind a shuffle and takes the smallest', () => {
    const combiner = new ProgressCombiner([{ single: false, senders: 2 }])
    expect(combiner.report(0, 0, 7, 100, 50)).toBeUndefined()
    expect(combiner.report(0, 1, 7, 80, 60)).toEqual({ nextOffset: 80, asOfMs: 50 })
    expect(combiner.report(0, 1, 7, 120, 70)).toEqual({ nextOffset: 100, asOfMs: 50 })
  })

  it('waits for every edge', () => {
    const combiner = new ProgressCombiner([
      { single: true, senders: 1 },
      { single: true, senders: 1 },
    ])
    expect(combiner.report(0, 0, 1, 10, 1)).toBeUndefined()
    expect(combiner.report(1, 0, 1, 9, 2)).toEqual({ nextOffset: 9, asOfMs: 1 })
  })

  it('says nothing when a report changes nothing', () => {
    const combiner = new ProgressCombiner([{ single: true, senders: 1 }])
    combiner.report(0, 0, 1, 10, 1)
    expect(combiner.report(0, 0, 1, 10, 1)).toBeUndefined()
  })
})
