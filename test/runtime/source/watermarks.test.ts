import { describe, expect, it } from 'vitest'
import { MIN_TIMESTAMP } from '../../../src/core/time.ts'
import { boundedOutOfOrderness, noWatermarks } from '../../../src/dataflow/watermark-strategy.ts'
import { SourceWatermarks } from '../../../src/runtime/source/watermarks.ts'

function withPartitions(outOfOrdernessMs: number, idleAfterMs?: number): SourceWatermarks {
  const watermarks = new SourceWatermarks(
    boundedOutOfOrderness(outOfOrdernessMs, idleAfterMs === undefined ? {} : { idleAfterMs }),
  )
  watermarks.addPartition(0, 0)
  watermarks.addPartition(1, 0)
  return watermarks
}

describe('SourceWatermarks', () => {
  it('is the largest timestamp minus the tolerance minus one, of the slowest partition', () => {
    const watermarks = withPartitions(5)
    watermarks.timestampOf('a', 100, 0)
    watermarks.timestampOf('b', 60, 1)
    watermarks.timestampOf('c', 50, 1)
    expect(watermarks.watermark(0)).toBe(54)
  })

  it('waits for a partition that has no record yet', () => {
    const watermarks = withPartitions(0)
    watermarks.timestampOf('a', 100, 0)
    expect(watermarks.watermark(1_000_000)).toBe(MIN_TIMESTAMP)
  })

  it('does not wait for a partition that has been silent for the idle time', () => {
    const watermarks = withPartitions(0, 1000)
    watermarks.timestampOf('a', 100, 0)
    expect(watermarks.watermark(999)).toBe(MIN_TIMESTAMP)
    watermarks.timestampOf('a', 200, 0)
    expect(watermarks.watermark(1000)).toBe(199)
  })

  it('is idle when every partition is, and no longer after a record', () => {
    const watermarks = withPartitions(0, 1000)
    expect(watermarks.idle(999)).toBe(false)
    expect(watermarks.idle(1000)).toBe(true)
    watermarks.timestampOf('a', 1, 1)
    expect(watermarks.idle(1000)).toBe(false)
  })

  it('never falls when an idle partition becomes active', () => {
    const watermarks = withPartitions(0, 1000)
    watermarks.timestampOf('a', 500, 0)
    expect(watermarks.watermark(1000)).toBe(499)
    watermarks.timestampOf('b', 10, 1)
    expect(watermarks.watermark(1001)).toBe(499)
  })

  it('makes none without a tolerance', () => {
    const watermarks = new SourceWatermarks(noWatermarks())
    watermarks.addPartition(0, 0)
    expect(watermarks.timestampOf('a', 7, 0)).toBe(7)
    expect(watermarks.watermark(10)).toBe(MIN_TIMESTAMP)
  })
})
