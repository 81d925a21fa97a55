import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import type { BatchMessage, ForwardMessage } from '../../../src/runtime/channel/message.ts'
import { OutputChannel } from '../../../src/runtime/channel/output.ts'
import type { OwnRecords } from '../../../src/runtime/channel/own-records.ts'
import { ValueAppender, valueReaderOf } from '../../../src/runtime/subtask/value-appender.ts'
import { RecordBatchReader } from '../../../src/wire/batch/record-batch-reader.ts'

const KEY = Buffer.from('key')

function setUp(isLocal: boolean, batchBytes = 100_000, keepsRecords = false) {
  const sent: ForwardMessage[] = []
  const owner = {
    blockedChannels: 0,
    bytesOut: 0,
    recordsEmitted: 0,
    currentPosition: { partition: 0, offset: 0 },
  }
  const send = (message: ForwardMessage) => sent.push(message)
  const options = { id: 0, owner, send, batchBytes, credits: 4, isLocal, keepsRecords }
  const channel = new OutputChannel(options)
  const appender = new ValueAppender(msgpackSerializer())
  const append = (value: unknown): void => {
    owner.currentPosition.offset += 1
    appender.append(channel, KEY, KEY.length, value, 5)
  }
  return { channel, sent, append }
}

/** The values of a batch as a receiver sees them. */
function valuesOf(message: ForwardMessage, values = valueReaderOf(msgpackSerializer(), true)) {
  const { buffer, length, objects } = message as BatchMessage
  const reader = new RecordBatchReader()
  reader.open(new Uint8Array(buffer, 0, length), 0, false)
  const found: unknown[] = []
  for (let i = 0; reader.next(); i++) {
    const { valueStart, valueLength, bytes } = reader
    const read = () => values.read(new ByteReader(bytes, valueStart, valueStart + valueLength))
    found.push(objects?.[i] ?? read())
  }
  return found
}

/** The values of records that stay in the thread, as their receiver sees them, and whether each was encoded. */
function keptValuesOf(message: ForwardMessage) {
  const group = (message as OwnRecords).take()!
  return group.objects.map((object, i) => {
    const start = group.valueStarts[i]!
    const read = () =>
      msgpackSerializer().read(new ByteReader(group.bytes, start, start + group.valueLengths[i]!))
    return { value: object ?? read(), isEncoded: object === undefined }
  })
}

describe('ValueAppender', () => {
  it('keeps copies and primitives in the thread, and bytes in their places where no copy is made', () => {
    const { channel, sent, append } = setUp(true, 100_000, true)
    const price = { euros: 1 }
    const factors = new Float32Array([1])
    for (const value of [{ price }, { factors }, 'text', 7n, 2.5, { price }]) append(value)
    price.euros = 9
    factors[0] = 9
    channel.flush()
    expect(keptValuesOf(sent[0]!)).toEqual([
      { value: { price: { euros: 1 } }, isEncoded: false },
      { value: { factors: new Float32Array([1]) }, isEncoded: true },
      { value: 'text', isEncoded: false },
      { value: 7n, isEncoded: true },
      { value: 2.5, isEncoded: false },
      { value: { price: { euros: 1 } }, isEncoded: false },
    ])
  })

  it('gives copies to a receiver of the same thread, and bytes where no copy is made', () => {
    const { channel, sent, append } = setUp(true)
    const price = { euros: 1 }
    const factors = new Float32Array([1])
    for (const value of [{ price }, { factors }, 'text', { price }]) append(value)
    price.euros = 9
    channel.flush()
    expect((sent[0] as BatchMessage).objects?.filter(() => true)).toHaveLength(2)
    expect(valuesOf(sent[0]!)).toEqual([
      { price: { euros: 1 } },
      { factors },
      'text',
      { price: { euros: 1 } },
    ])
  })

  it('encodes every value for a receiver of another thread', () => {
    const { channel, sent, append } = setUp(false)
    for (const euros of [1, 2]) append({ price: { euros } })
    channel.flush()
    expect((sent[0] as BatchMessage).objects).toBeUndefined()
    const values = valueReaderOf(msgpackSerializer(), false)
    expect(valuesOf(sent[0]!, values)).toEqual([{ price: { euros: 1 } }, { price: { euros: 2 } }])
  })

  it('ends a batch when its objects take as much memory as a batch may', () => {
    for (const keepsRecords of [false, true]) {
      const { sent, append } = setUp(true, 1000, keepsRecords)
      for (let i = 0; i < 10; i++) append({ text: 'x'.repeat(400) })
      expect(sent.map((message) => (message as BatchMessage).records)).toEqual([2, 2, 2, 2])
    }
  })
})
