import { describe, expect, it } from 'vitest'
import {
  RecordSender,
  type RecordSerializer,
} from '../../../src/connectors/records/outgoing-record.ts'
import type { RecordDeserializer } from '../../../src/connectors/records/topic-record.ts'
import {
  deserializeKeyValue,
  deserializeValue,
} from '../../../src/connectors/records/value-deserializer.ts'
import {
  serializeKeyValue,
  serializeValue,
} from '../../../src/connectors/records/value-serializer.ts'
import { csvFormat } from '../../../src/core/formats/csv.ts'
import { jsonFormat } from '../../../src/core/formats/json.ts'
import { formatLine, parseLine } from '../../../src/core/formats/line.ts'
import { float64Serializer, stringSerializer } from '../../../src/core/serializer.ts'
import { RecordBatchReader } from '../../../src/wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../../src/wire/batch/record-batch-writer.ts'

const text = (value: Uint8Array | null): string | null =>
  value === null ? null : new TextDecoder().decode(value)

/** Writes values into a batch and returns its records as a deserializer gets them. */
function throughBatch<T, R>(
  serialize: RecordSerializer<T>,
  values: readonly T[],
  deserialize: RecordDeserializer<R>,
): (R | undefined)[] {
  const writer = new RecordBatchWriter(1024)
  const sender = new RecordSender(serialize)
  for (const value of values) {
    sender.send(value, 5, {
      sendRecord: (key, bytes, timestamp, _partition, headers) =>
        writer.append(key, bytes, timestamp, writer.count, headers),
    })
  }
  const batch = new RecordBatchReader()
  batch.open(writer.take({ codec: 'none' }))
  const results: (R | undefined)[] = []
  while (batch.next()) results.push(deserialize(batch, 0))
  return results
}

interface Visit {
  readonly user: string
  readonly page: string | null
}

describe('formats of a topic', () => {
  it('write and read values with text keys', () => {
    const format = jsonFormat<Visit>()
    const visits = [
      { user: 'u1', page: 'a' },
      { user: 'u2', page: 'b' },
    ]
    const serialize = serializeValue(format, { keyOf: ({ user }) => user })
    expect(throughBatch(serialize, visits, deserializeValue(format))).toEqual(visits)
    expect(throughBatch(serialize, visits, (record) => text(record.key()))).toEqual(['u1', 'u2'])
  })

  it('reject, skip or convert tombstones, as configured', () => {
    const format = jsonFormat<Visit>()
    const serialize = serializeValue(format, {
      keyOf: ({ user }) => user,
      isTombstone: ({ page }) => page === null,
    })
    const gone = [{ user: 'u1', page: null }]
    expect(() => throughBatch(serialize, gone, deserializeValue(format))).toThrow('a tombstone')
    const skip = deserializeValue(format, { tombstones: 'skip' })
    expect(throughBatch(serialize, gone, skip)).toEqual([undefined])
    const translate = deserializeValue<Visit>(format, {
      tombstones: (record) => ({ user: text(record.key())!, page: null }),
    })
    expect(throughBatch(serialize, gone, translate)).toEqual(gone)
  })

  it('read key and value with separate formats, null when missing', () => {
    const serialize = serializeKeyValue(stringSerializer, float64Serializer, {
      keyOf: (value: number) => `k${value}`,
      valueOf: (value) => (value < 0 ? null : value),
      finish: (value, record) => {
        record.headers = [{ key: 'n', value: new Uint8Array([value]) }]
      },
    })
    const deserialize = deserializeKeyValue(stringSerializer, float64Serializer)
    expect(throughBatch(serialize, [1, -2], deserialize)).toEqual([
      { key: 'k1', value: 1 },
      { key: 'k-2', value: null },
    ])
    expect(throughBatch(serialize, [3], (record) => record.headers()[0]!.value![0])).toEqual([3])
  })

  it('read and write lines of files', () => {
    const format = csvFormat({ columns: { name: 'string', count: 'integer' } })
    expect(parseLine(format)('"a,b",3')).toEqual({ name: 'a,b', count: 3 })
    expect(formatLine(format)({ name: 'a,b', count: 3 })).toBe('"a,b",3')
    expect(() => formatLine(format)({ name: 'a\nb', count: 3 })).toThrow('line break')
    expect(() => parseLine(format)('a')).toThrow('1 fields where 2 were expected')
  })
})
