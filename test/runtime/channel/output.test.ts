import { describe, expect, it } from 'vitest'
import type { BatchMessage, ForwardMessage } from '../../../src/runtime/channel/message.ts'
import { OutputChannel } from '../../../src/runtime/channel/output.ts'
import type { OwnRecords } from '../../../src/runtime/channel/own-records.ts'
import { RecordBatchReader } from '../../../src/wire/batch/record-batch-reader.ts'

const VALUE = new Uint8Array(100)
const NO_KEY = new Uint8Array(0)

function setUp(credits: number, batchBytes = 450) {
  const sent: ForwardMessage[] = []
  const owner = {
    blockedChannels: 0,
    currentPosition: { partition: 0, offset: 0 },
    bytesOut: 0,
    recordsEmitted: 0,
  }
  const send = (message: ForwardMessage) => sent.push(message)
  const channel = new OutputChannel({ id: 3, owner, send, batchBytes, credits })
  const emit = (partition: number, offset: number): void => {
    owner.currentPosition.partition = partition
    owner.currentPosition.offset = offset
    channel.append(NO_KEY, -1, VALUE, VALUE.length, offset * 10)
  }
  return { channel, owner, sent, emit }
}

/** Partition, offset and timestamp of every record of a batch. */
function positionsOf(message: ForwardMessage | undefined): number[][] {
  const batch = message as BatchMessage
  const reader = new RecordBatchReader()
  reader.open(new Uint8Array(batch.buffer, 0, batch.length), 0, false)
  const found: number[][] = []
  const runs = batch.positions
  for (let i = 0; reader.next(); i++) {
    let at = 0
    while (at + 3 < runs.length && runs[at + 3]! <= i) at += 3
    found.push([runs[at + 1]!, reader.offset + runs[at + 2]!, reader.timestamp])
  }
  return found
}

describe('OutputChannel', () => {
  it('sends a batch when it is full', () => {
    const { sent, emit } = setUp(2)
    for (let i = 0; i < 4; i++) emit(0, i)
    expect(sent.map((message) => message.kind)).toEqual(['batch'])
    expect(positionsOf(sent[0])).toEqual([
      [0, 0, 0],
      [0, 1, 10],
      [0, 2, 20],
      [0, 3, 30],
    ])
  })

  it('keeps the source position of every record, whatever the order', () => {
    const { sent, emit, channel } = setUp(2, 100_000)
    const positions = [
      [0, 7],
      [0, 7],
      [0, 9],
      [1, 2 ** 40],
      [0, 10],
      [0, 3],
      [-1, 0],
      [-1, 0],
      [1, 2 ** 40 + 2 ** 35],
    ] as const
    for (const [partition, offset] of positions) emit(partition, offset)
    channel.flush()
    const found = positionsOf(sent[0]).map(([partition, offset]) => [
      partition,
      partition === -1 ? 0 : offset,
    ])
    expect(found).toEqual(positions.map((position) => [...position]))
  })

  it('blocks its subtask when a full batch has no credit, and drains in order', () => {
    const { channel, owner, sent, emit } = setUp(1)
    for (let i = 0; i < 8; i++) emit(0, i)
    channel.control({ kind: 'watermark', channel: 3, timestamp: 5 })
    expect(sent).toHaveLength(1)
    expect(owner.blockedChannels).toBe(1)
    channel.credit(new ArrayBuffer(64))
    expect(sent.map((message) => message.kind)).toEqual(['batch', 'batch', 'watermark'])
    expect(owner.blockedChannels).toBe(0)
  })

  it('sends a barrier that overtakes and what is in front of it without credit, which then must come back', () => {
    const { channel, owner, sent, emit } = setUp(1)
    const barrier = { checkpointId: 5, timestampMs: 0, full: false, mode: 'exactly-once' } as const
    for (let i = 0; i < 9; i++) emit(0, i)
    channel.control({ kind: 'barrier', channel: 3, barrier })
    channel.control({ kind: 'watermark', channel: 3, timestamp: 5 })
    channel.sendUpTo(4)
    expect(sent).toHaveLength(1)
    channel.sendUpTo(5)
    expect(sent.map((message) => message.kind)).toEqual([
      'batch',
      'batch',
      'batch',
      'barrier',
      'watermark',
    ])
    channel.control({ kind: 'end', channel: 3 })
    expect(sent.at(-1)?.kind).toBe('end')
    const blocked = [owner.blockedChannels]
    for (let i = 0; i < 3; i++) {
      channel.credit(new ArrayBuffer(64))
      blocked.push(owner.blockedChannels)
    }
    expect(blocked).toEqual([1, 1, 0, 0])
    for (let i = 9; i < 13; i++) emit(0, i)
    expect(sent.at(-1)?.kind).toBe('batch')
    for (let i = 13; i < 17; i++) emit(0, i)
    expect(owner.blockedChannels).toBe(1)
  })

  it('sends records before the control message that follows them', () => {
    const { channel, sent, emit } = setUp(2)
    emit(0, 1)
    channel.control({ kind: 'end', channel: 3 })
    expect(sent.map((message) => message.kind)).toEqual(['batch', 'end'])
  })

  it('does not send a half-full batch for which there is no credit', () => {
    const { channel, owner, sent, emit } = setUp(1)
    for (let i = 0; i < 4; i++) emit(0, i)
    emit(0, 4)
    channel.flush()
    expect(sent).toHaveLength(1)
    expect(owner.blockedChannels).toBe(0)
  })

  it('fills records of the own slot again, sends them in front of control messages, and blocks without credit', () => {
    const sent: ForwardMessage[] = []
    const currentPosition = { partition: 0, offset: 0 }
    const owner = { blockedChannels: 0, currentPosition, bytesOut: 0, recordsEmitted: 0 }
    const send = (message: ForwardMessage) => sent.push(message)
    const options = { id: 3, owner, send, batchBytes: 1000, credits: 1, isLocal: true }
    const channel = new OutputChannel({ ...options, keepsRecords: true })
    const emit = (count: number): void => {
      for (let i = 0; i < count; i++) {
        channel.own!.add({ i }, 400, 0)
        channel.added()
      }
    }
    emit(4)
    channel.control({ kind: 'watermark', channel: 3, timestamp: 5 })
    const [first] = sent as OwnRecords[]
    expect(sent.map(({ kind }) => kind)).toEqual(['own'])
    expect([first!.records, owner.blockedChannels, owner.recordsEmitted]).toEqual([3, 1, 4])
    channel.credit(first!)
    expect(sent.map(({ kind }) => kind)).toEqual(['own', 'own', 'watermark'])
    expect([first!.records, owner.blockedChannels]).toEqual([0, 0])
    expect(owner.bytesOut).toBeGreaterThan(1200)
    channel.credit(sent[1] as OwnRecords)
    emit(3)
    expect(sent).toHaveLength(4)
    expect([sent[0], sent[1]]).toContain(channel.own)
  })

  it('writes into buffers that the receiver gives back', () => {
    const { channel, sent, emit } = setUp(1)
    const buffer = new ArrayBuffer(8192)
    for (let i = 0; i < 4; i++) emit(0, i)
    channel.credit(buffer)
    for (let i = 4; i < 8; i++) emit(0, i)
    channel.credit(new ArrayBuffer(8192))
    for (let i = 8; i < 12; i++) emit(0, i)
    expect((sent[2] as BatchMessage).buffer).toBe(buffer)
  })
})
