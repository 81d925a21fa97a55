import { describe, expect, it } from 'vitest'
import { InputChannel } from '../../../src/runtime/channel/input.ts'

const watermark = (timestamp: number) => ({ kind: 'watermark', channel: 0, timestamp }) as const
const progress = (partition: number, nextOffset: number) =>
  ({
    kind: 'progress',
    channel: 0,
    report: { source: 0, partition, nextOffset, asOfMs: 0, version: 0 },
  }) as const

describe('InputChannel', () => {
  it('gives messages in the order they came', () => {
    const channel = new InputChannel(0, 0, 0)
    channel.push(watermark(1))
    channel.push({ kind: 'end', channel: 0 })
    expect([channel.take().kind, channel.take().kind]).toEqual(['watermark', 'end'])
    expect(channel.readable).toBe(false)
  })

  it('cannot be read while it waits for other barriers', () => {
    const channel = new InputChannel(0, 0, 0)
    channel.push(watermark(1))
    channel.blocked = true
    expect(channel.readable).toBe(false)
  })

  it('does not grow when watermarks and progress repeat', () => {
    const channel = new InputChannel(0, 0, 0)
    for (let i = 0; i < 1000; i++) {
      channel.push(watermark(i))
      channel.push(progress(i % 2, i))
    }
    expect(channel.length).toBe(3)
    expect(channel.take()).toMatchObject({ timestamp: 999 })
    expect(channel.take()).toMatchObject({ report: { partition: 0, nextOffset: 998 } })
    expect(channel.take()).toMatchObject({ report: { partition: 1, nextOffset: 999 } })
  })

  it('gives a barrier from behind watermarks and progress, not from behind records', () => {
    const channel = new InputChannel(0, 0, 0)
    const cancel = { kind: 'cancel', channel: 0, checkpointId: 1 } as const
    channel.push(watermark(1))
    channel.push(progress(0, 1))
    channel.push(cancel)
    channel.push({ kind: 'end', channel: 0 })
    channel.push(cancel)
    channel.blocked = true
    expect(channel.takeBarrier()).toBeUndefined()
    channel.blocked = false
    expect(channel.takeBarrier()).toEqual(cancel)
    expect(channel.takeBarrier()).toBeUndefined()
    expect([channel.take().kind, channel.take().kind]).toEqual(['watermark', 'progress'])
    expect([channel.take().kind, channel.take().kind]).toEqual(['end', 'cancel'])
  })

  it('does not move a watermark before a barrier', () => {
    const channel = new InputChannel(0, 0, 0)
    channel.push(watermark(1))
    channel.push({ kind: 'cancel', channel: 0, checkpointId: 1 })
    channel.push(watermark(2))
    expect(channel.take()).toMatchObject({ timestamp: 1 })
  })
})
