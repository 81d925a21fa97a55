import { describe, expect, it } from 'vitest'
import { MIN_TIMESTAMP } from '../../../src/core/time.ts'
import { WatermarkCombiner } from '../../../src/runtime/channel/watermark-combiner.ts'

describe('WatermarkCombiner', () => {
  it('waits until every channel has a watermark', () => {
    const combiner = new WatermarkCombiner(2)
    expect(combiner.advance(0, 10)).toBe(false)
    expect(combiner.watermark).toBe(MIN_TIMESTAMP)
    expect(combiner.advance(1, 5)).toBe(true)
    expect(combiner.watermark).toBe(5)
  })

  it('takes the watermark of the slowest channel', () => {
    const combiner = new WatermarkCombiner(2)
    combiner.advance(0, 10)
    combiner.advance(1, 20)
    expect(combiner.advance(1, 30)).toBe(false)
    expect(combiner.watermark).toBe(10)
  })

  it('does not wait for an idle channel', () => {
    const combiner = new WatermarkCombiner(2)
    combiner.advance(0, 10)
    expect(combiner.setIdle(1, true)).toBe(true)
    expect(combiner.watermark).toBe(10)
  })

  it('never falls when an idle channel becomes active with an older watermark', () => {
    const combiner = new WatermarkCombiner(2)
    combiner.setIdle(1, true)
    combiner.advance(0, 100)
    combiner.advance(1, 50)
    expect(combiner.setIdle(1, false)).toBe(false)
    expect(combiner.watermark).toBe(100)
    combiner.advance(0, 200)
    expect(combiner.watermark).toBe(100)
    combiner.advance(1, 150)
    expect(combiner.watermark).toBe(150)
  })

  it('does not change while every channel is idle', () => {
    const combiner = new WatermarkCombiner(2)
    combiner.advance(0, 10)
    combiner.setIdle(0, true)
    expect(combiner.setIdle(1, true)).toBe(false)
    expect(combiner.idle).toBe(true)
    expect(combiner.watermark).toBe(MIN_TIMESTAMP)
  })
})
