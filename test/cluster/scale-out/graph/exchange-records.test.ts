import { describe, expect, it } from 'vitest'
import {
  exchangeDeserializer,
  exchangeSerializer,
} from '../../../../src/cluster/scale-out/graph/exchange-records.ts'
import type { ExchangeMessage } from '../../../../src/cluster/scale-out/graph/exchange-sender.ts'
import type { OutgoingRecord } from '../../../../src/connectors/records/outgoing-record.ts'
import type { RecordView } from '../../../../src/connectors/records/topic-record.ts'
import { keyGroupOf, subtaskOfKeyGroup } from '../../../../src/core/key-group.ts'
import { stringSerializer } from '../../../../src/core/serializer.ts'
import { MAX_TIMESTAMP } from '../../../../src/core/time.ts'

const EXCHANGE = { serializer: stringSerializer, isKeyed: true, maxParallelism: 128 }
const PARTITIONS = 4
const KEY = new TextEncoder().encode('a key')
const OWNER = subtaskOfKeyGroup(keyGroupOf(KEY, 128), PARTITIONS, 128)

/** The record of a message as it is written. */
function written(message: Partial<ExchangeMessage>): OutgoingRecord {
  const record = { key: null, value: null, timestamp: -1, partition: -1, headers: [] }
  const whole = {
    kind: 'record',
    sender: 2,
    time: 7,
    sentMs: 99,
    key: KEY,
    value: 'v',
    receiver: 1,
  }
  exchangeSerializer(EXCHANGE)({ ...whole, ...message } as ExchangeMessage, record)
  return record
}

/** A record of a topic with these bytes. */
function recordOf(key: Uint8Array | null, value: Uint8Array): RecordView {
  const bytes = new Uint8Array([...(key ?? []), ...value])
  const keyLength = key?.length ?? 0
  return {
    ...{ bytes, keyStart: 0, keyLength: key === null ? -1 : keyLength },
    ...{ valueStart: keyLength, valueLength: value.length, timestamp: 99, offset: 0 },
    key: () => key,
    value: () => value,
    headers: () => [],
    header: () => undefined,
  }
}

const read = (record: RecordView, partition = OWNER) =>
  exchangeDeserializer(EXCHANGE, PARTITIONS)(record, partition)

describe('a record of an exchange topic', () => {
  it('has the bytes of version 1: head, and the value of the stream', () => {
    const { key, value, partition, timestamp } = written({})
    expect(Buffer.from(value!).toString('hex')).toBe('01010200070000000000000076')
    expect({ key, partition, timestamp }).toEqual({ key: KEY, partition: 1, timestamp: 99 })
    const { value: watermark } = written({ kind: 'watermark', time: MAX_TIMESTAMP, key: null })
    expect(Buffer.from(watermark!).toString('hex')).toBe('01020200ffffffffffff1f00')
  })

  it('is read as it was written', () => {
    const { key, value } = written({ time: -1 })
    expect(read(recordOf(key, value!))).toEqual({ kind: 'record', sender: 2, time: -1, value: 'v' })
    const idle = written({ kind: 'idle', time: 0, key: null })
    expect(read(recordOf(null, idle.value!))).toMatchObject({ kind: 'idle', sender: 2 })
  })

  it.each([
    ['a partition that does not own its key', KEY, written({}).value!, (OWNER + 1) % PARTITIONS],
    ['no key', null, written({}).value!, OWNER],
    ['a sender that does not exist', KEY, written({ sender: 4 }).value!, OWNER],
    ['bytes of another program', KEY, new TextEncoder().encode('{"a":1,"b":2}'), OWNER],
    ['too few bytes', KEY, Uint8Array.of(1, 1), OWNER],
    ['an unknown kind', KEY, Uint8Array.of(1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), OWNER],
  ])('is refused with %s', (_, key, value, partition) => {
    expect(() => read(recordOf(key, value), partition)).toThrow(
      /of an exchange topic (is not of this job|is not Weir's|has version)/,
    )
  })
})
