import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { ShapeReader } from '../../../src/core/shapes/reader.ts'
import { decodeInFlight } from '../../../src/runtime/channel/in-flight-format.ts'
import { InputChannel } from '../../../src/runtime/channel/input.ts'
import type { BatchMessage, ForwardMessage } from '../../../src/runtime/channel/message.ts'
import { OutputChannel } from '../../../src/runtime/channel/output.ts'
import { OvertakenRecords } from '../../../src/runtime/channel/overtaken-records.ts'
import { ValueAppender } from '../../../src/runtime/subtask/value-appender.ts'

const serializer = msgpackSerializer<unknown>()
const NO_KEY = new Uint8Array(0)

const barrier = (channel: number, checkpointId: number): ForwardMessage => ({
  kind: 'barrier',
  channel,
  barrier: { checkpointId, timestampMs: 0, full: false, mode: 'exactly-once' },
})

/** A channel between two slots, where the names of fields are sent once. */
function channelOf(index: number) {
  const channel = new InputChannel(index, index, 0)
  const sent: ForwardMessage[] = []
  const owner = {
    blockedChannels: 0,
    currentPosition: { partition: 0, offset: 0, source: 0 },
    bytesOut: 0,
    recordsEmitted: 0,
  }
  const out = new OutputChannel({
    id: index,
    owner,
    send: (message) => sent.push(message),
    batchBytes: 10_000,
    credits: 100,
  })
  const appender = new ValueAppender(serializer)
  const batch = (...values: readonly unknown[]): BatchMessage => {
    for (const value of values) {
      owner.currentPosition.offset += 1
      appender.append(out, NO_KEY, -1, value, 7)
    }
    out.flush()
    return sent.at(-1) as BatchMessage
  }
  const from = { channel, edge: `from ${index}`, serializer, values: new ShapeReader(serializer) }
  return { from, batch }
}

/** The stored values of an entry. */
function valuesOf(entry: Uint8Array): unknown[] {
  return decodeInFlight(entry).records.map(({ value, position }) => [
    serializer.read(new ByteReader(value)),
    position.offset,
  ])
}

describe('OvertakenRecords', () => {
  it('holds what waits in front of the barrier, and what comes before it where it is on its way', async () => {
    const [a, b] = [channelOf(0), channelOf(1)]
    const before = a.batch({ n: 1, text: 'x' }, { n: 2, text: 'x' })
    a.from.channel.push(before)
    a.from.channel.push(barrier(0, 5))
    a.from.channel.push(a.batch({ n: 3, text: 'x' }))
    b.from.channel.push(b.batch({ n: 10 }))
    const records = new OvertakenRecords(5, new Set())
    for (const { from } of [a, b]) from.channel.see = (message) => records.arrived(from, message)
    records.capture([a.from, b.from])
    b.from.channel.push(b.batch({ n: 11 }))
    b.from.channel.push(barrier(1, 5))
    b.from.channel.push(b.batch({ n: 12 }))
    const entries = await records.entries
    expect(entries.map(valuesOf)).toEqual([
      [
        [{ n: 1, text: 'x' }, 1],
        [{ n: 2, text: 'x' }, 2],
      ],
      [
        [{ n: 10 }, 1],
        [{ n: 11 }, 2],
      ],
    ])
  })

  it('leaves batches behind it whose values are read once, in their order', async () => {
    const a = channelOf(0)
    a.from.channel.push(a.batch({ n: 1 }, { n: 2 }))
    a.from.channel.push(barrier(0, 5))
    const records = new OvertakenRecords(5, new Set())
    records.capture([a.from])
    await records.entries
    expect((a.from.channel.take() as BatchMessage).objects).toEqual([{ n: 1 }, { n: 2 }])
    const next = a.batch({ n: 3 })
    expect(records.copy(a.from, next, 0).objects).toEqual([{ n: 3 }])
  })

  it('has no record of a channel whose barrier was read', async () => {
    const a = channelOf(0)
    a.from.channel.push(a.batch({ n: 1 }))
    const records = new OvertakenRecords(5, new Set([0]))
    records.capture([a.from])
    expect(await records.entries).toEqual([])
  })

  it('rejects when the checkpoint ends before all barriers have come', async () => {
    const a = channelOf(0)
    const records = new OvertakenRecords(5, new Set())
    records.capture([a.from])
    records.discard('a newer barrier came')
    await expect(records.entries).rejects.toMatchObject({
      code: 'CHECKPOINT_DECLINED',
      message: expect.stringContaining('a newer barrier came'),
    })
  })

  it('rejects also when it ends before the snapshot, so that it is never acknowledged without records', async () => {
    const a = channelOf(0)
    const records = new OvertakenRecords(5, new Set())
    records.discard('it was aborted')
    records.capture([a.from])
    await expect(records.entries).rejects.toMatchObject({ code: 'CHECKPOINT_DECLINED' })
  })
})
