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

  it.each([
    [0, 1],
    [1, 0],
  ])('is the largest when every channel is idle, channel %i first', (first, second) => {
    const combiner = new WatermarkCombiner(2)
    combiner.advance(0, 10)
    combiner.setIdle(first, true)
    combiner.setIdle(second, true)
    expect(combiner.idle).toBe(true)
    expect(combiner.watermark).toBe(10)
    expect(combiner.setIdle(0, false)).toBe(false)
  })

  it('is not flushed by a channel that is behind and did not hold it back', () => {
    const combiner = new WatermarkCombiner(3)
    combiner.advance(0, 10)
    combiner.advance(1, 20)
    combiner.setIdle(2, true)
    combiner.setIdle(0, true)
    expect(combiner.watermark).toBe(20)
    combiner.setIdle(1, true)
    combiner.advance(2, 5)
    combiner.setIdle(2, false)
    combiner.advance(0, 30)
    expect(combiner.setIdle(2, true)).toBe(false)
    expect(combiner.watermark).toBe(20)
  })

  it('stays at the beginning while no channel has one', () => {
    const combiner = new WatermarkCombiner(2)
    combiner.setIdle(0, true)
    expect(combiner.setIdle(1, true)).toBe(false)
    expect(combiner.watermark).toBe(MIN_TIMESTAMP)
  })
})
