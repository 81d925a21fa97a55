import { describe, expect, it } from 'vitest'
import { MIN_TIMESTAMP } from '../../../src/core/time.ts'
import {
  boundedOutOfOrderness,
  generatedWatermarks,
  noWatermarks,
} from '../../../src/dataflow/watermark-strategy.ts'
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

  it('counts the last record of a partition, also where the thread was held until that is idle', () => {
    const watermarks = withPartitions(0, 1000)
    watermarks.timestampOf('a', 100, 0)
    // Something else looks at the partitions first.
    expect(watermarks.idle(10)).toBe(false)
    expect(watermarks.watermark(5000)).toBe(99)
    expect(watermarks.idle(5000)).toBe(true)
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

  it('does not count the time for which the source did not read as silence', () => {
    const watermarks = withPartitions(0, 1000)
    watermarks.excuse(500)
    expect(watermarks.idle(1499)).toBe(false)
    expect(watermarks.idle(1500)).toBe(true)
  })

  it('asks a generator of each partition, and takes the smallest of their watermarks', () => {
    const watermarks = new SourceWatermarks(
      generatedWatermarks<unknown>(() => ({
        onEvent: (value, timestamp, output) => {
          if (value === 'mark') output.emitWatermark(timestamp)
        },
        onPeriodicEmit() {},
      })),
    )
    const read = (value: string, timestamp: number, partition: number): boolean => {
      watermarks.timestampOf(value, timestamp, partition)
      return watermarks.afterRecord(value, timestamp)
    }
    watermarks.addPartition(0, 0)
    watermarks.addPartition(1, 0)
    expect(read('mark', 50, 0)).toBe(true)
    expect(read('record', 70, 1)).toBe(false)
    expect(watermarks.watermark(0)).toBe(MIN_TIMESTAMP)
    read('mark', 40, 1)
    expect(watermarks.watermark(0)).toBe(40)
    expect(read('mark', 30, 1)).toBe(false)
    expect(watermarks.watermark(0)).toBe(40)
  })

  it('does not wait for a partition that its generator marks idle, until its next record', () => {
    let idle = true
    const watermarks = new SourceWatermarks(
      generatedWatermarks<unknown>(() => {
        let largest = MIN_TIMESTAMP
        return {
          onEvent: (_, timestamp) => {
            largest = timestamp
          },
          onPeriodicEmit: (output) => {
            if (largest !== MIN_TIMESTAMP) output.emitWatermark(largest)
            else if (idle) output.markIdle()
            else output.markActive()
          },
        }
      }),
    )
    watermarks.addPartition(0, 0)
    watermarks.addPartition(1, 0)
    watermarks.timestampOf('a', 10, 0)
    watermarks.afterRecord('a', 10)
    watermarks.periodic()
    expect(watermarks.watermark(0)).toBe(10)
    idle = false
    watermarks.timestampOf('a', 20, 0)
    watermarks.afterRecord('a', 20)
    watermarks.periodic()
    expect(watermarks.watermark(0)).toBe(10)
  })

  it('makes none without a tolerance', () => {
    const watermarks = new SourceWatermarks(noWatermarks())
    watermarks.addPartition(0, 0)
    expect(watermarks.timestampOf('a', 7, 0)).toBe(7)
    expect(watermarks.watermark(10)).toBe(MIN_TIMESTAMP)
  })
})
