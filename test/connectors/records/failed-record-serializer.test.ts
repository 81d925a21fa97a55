import { expect, it } from 'vitest'
import { serializeFailedRecord } from '../../../src/connectors/records/failed-record-serializer.ts'
import { RecordSender } from '../../../src/connectors/records/outgoing-record.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import type { FailedRecord } from '../../../src/operators/port/failed-record.ts'

/** What a producer gets of a record. */
function sent(failed: FailedRecord<string>) {
  let record: object = {}
  new RecordSender(serializeFailedRecord(stringSerializer)).send(failed, 7, {
    sendRecord: (key, value, timestamp, _partition, headers) => {
      const text = (bytes: Uint8Array | null): string | null =>
        bytes === null ? null : Buffer.from(bytes).toString()
      const named = Object.fromEntries(headers.map((one) => [one.key, text(one.value)]))
      record = { key: text(key), value: text(value), timestamp, headers: named }
    },
  })
  return record
}

it('a dead letter has the value and the key, and operator, origin, error and stack in its headers', () => {
  const failed: FailedRecord<string> = {
    value: '{"item": ',
    operator: 'parse',
    key: 'ann',
    origin: { source: 0, topic: 'orders', partition: 2, offset: 17 },
    error: { name: 'SyntaxError', message: 'no JSON', stack: 'SyntaxError: no JSON\n    at parse' },
  }
  expect(sent(failed)).toEqual({
    key: 'ann',
    value: '{"item": ',
    timestamp: 7,
    headers: {
      'weir-operator': 'parse',
      'weir-origin': 'orders/2/17',
      'weir-reason': 'SyntaxError: no JSON',
      'weir-code': 'OPERATOR_FAILED',
      'weir-stack': 'SyntaxError: no JSON\n    at parse',
    },
  })
})

it('a dead letter has no header for what is not known, and the number of a source without a topic', () => {
  const error = { name: 'WeirError', message: 'too large', code: 'FRAME_TOO_LARGE' }
  const origin = { source: 1, partition: 0, offset: 3 }
  expect(sent({ value: 'a', operator: 'sum', error, origin })).toMatchObject({
    key: null,
    headers: {
      'weir-operator': 'sum',
      'weir-origin': '1/0/3',
      'weir-reason': 'WeirError: too large',
      'weir-code': 'FRAME_TOO_LARGE',
    },
  })
  expect(sent({ value: 'a', operator: 'sum', error })).toEqual({
    key: null,
    value: 'a',
    timestamp: 7,
    headers: expect.not.objectContaining({ 'weir-origin': expect.anything() }),
  })
})

it('a dead letter needs a format', () => {
  expect(() => serializeFailedRecord('json' as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  )
})
