import { describe, expect, it } from 'vitest'
import { ProgressCombiner } from '../../../src/runtime/channel/progress-combiner.ts'

function report(partition: number, nextOffset: number, asOfMs: number, source = 0, version = 0) {
  return { source, partition, nextOffset, asOfMs, version }
}

describe('ProgressCombiner', () => {
  it('takes the report of the one sender that has the partition', () => {
    const combiner = new ProgressCombiner([{ single: true, senders: 3, sources: [0] }])
    expect(combiner.report(0, 2, report(7, 100, 5))).toMatchObject({ nextOffset: 100, asOfMs: 5 })
  })

  it('waits for every sender after a shuffle and takes the smallest report', () => {
    const combiner = new ProgressCombiner([{ single: false, senders: 2, sources: [0] }])
    expect(combiner.report(0, 0, report(7, 100, 50))).toBeUndefined()
    expect(combiner.report(0, 1, report(7, 80, 60))).toMatchObject({ nextOffset: 80, asOfMs: 50 })
    expect(combiner.report(0, 1, report(7, 120, 70))).toMatchObject({ nextOffset: 100, asOfMs: 50 })
  })

  it('waits for every edge', () => {
    const combiner = new ProgressCombiner([
      { single: true, senders: 1, sources: [0] },
      { single: true, senders: 1, sources: [0] },
    ])
    expect(combiner.report(0, 0, report(1, 10, 1))).toBeUndefined()
    expect(combiner.report(1, 0, report(1, 9, 2))).toMatchObject({ nextOffset: 9, asOfMs: 1 })
  })

  it('reports nothing when nothing has changed', () => {
    const combiner = new ProgressCombiner([{ single: true, senders: 1, sources: [0] }])
    combiner.report(0, 0, report(1, 10, 1))
    expect(combiner.report(0, 0, report(1, 10, 1))).toBeUndefined()
  })

  it('waits only for the edges that carry records of the source', () => {
    const combiner = new ProgressCombiner([
      { single: true, senders: 1, sources: [0] },
      { single: true, senders: 1, sources: [1] },
    ])
    expect(combiner.report(1, 0, report(0, 10, 5, 1))).toMatchObject({ source: 1, nextOffset: 10 })
    expect(combiner.report(0, 0, report(0, 3, 2))).toMatchObject({ source: 0, nextOffset: 3 })
  })

  it('holds for no version while senders report different ones', () => {
    const combiner = new ProgressCombiner([{ single: false, senders: 2, sources: [0] }])
    combiner.report(0, 0, report(0, 10, 5, 0, 1))
    expect(combiner.report(0, 1, report(0, 10, 5, 0, 2))).toMatchObject({ version: -1 })
    expect(combiner.report(0, 0, report(0, 4, 6, 0, 2))).toMatchObject({
      version: 2,
      nextOffset: 4,
    })
  })
})
