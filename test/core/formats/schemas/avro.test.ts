import avro from 'avsc'
import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../../src/core/byte-writer.ts'
import { avroFormat } from '../../../../src/core/formats/schemas/avro.ts'
import { readerOf, type Serializer } from '../../../../src/core/serializer.ts'

const { Type } = avro

interface Visit {
  readonly user: string
  readonly pages: number
}
const FIRST = {
  type: 'record',
  name: 'Visit',
  fields: [
    { name: 'user', type: 'string' },
    { name: 'pages', type: 'int' },
  ],
}
const VISIT = avroFormat<Visit>(Type, FIRST)

function bytesOf<T>(serializer: Serializer<T>, value: T): Uint8Array {
  const writer = new ByteWriter(16)
  serializer.write(value, writer)
  return writer.toBytes()
}

/** What a format reads of a visit that `VISIT` has written. */
function readAs(schema: unknown): unknown {
  const read = readerOf(avroFormat<unknown>(Type, schema), VISIT.id)
  return typeof read === 'string'
    ? read
    : JSON.parse(JSON.stringify(read(new ByteReader(bytesOf(VISIT, { user: 'ann', pages: 300 })))))
}

const recordOf = (...fields: readonly object[]) => ({ type: 'record', name: 'Visit', fields })

describe('values of an Avro schema', () => {
  it('have the bytes of the specification, and are read back', () => {
    // "ann": length 3 as zigzag, UTF-8; 300: zigzag 600 as a varint.
    const bytes = bytesOf(VISIT, { user: 'ann', pages: 300 })
    expect(Buffer.from(bytes).toString('hex')).toBe('06616e6ed804')
    expect({ ...VISIT.read(new ByteReader(bytes)) }).toEqual({ user: 'ann', pages: 300 })
  })

  it('are refused where they do not fit', () => {
    const wrong = { user: 'ann', pages: 1.5 }
    expect(() => bytesOf(VISIT, wrong)).toThrow('the value does not fit its Avro schema')
    expect(() => VISIT.read(new ByteReader(Uint8Array.of(6, 97)))).toThrow('not avro/1')
    expect(() => avroFormat(Type, { type: 'recrod' })).toThrow('this is no Avro schema')
    expect(() => avroFormat({} as never, FIRST)).toThrow('the class Type of the package avsc')
  })

  it('are read with another schema by the rules of Avro', () => {
    const user = { name: 'user', type: 'string' }
    const wider = { name: 'pages', type: 'double' }
    expect(readAs(recordOf(user, wider))).toEqual({ user: 'ann', pages: 300 })
    const renamed = { name: 'views', type: 'long', aliases: ['pages'] }
    const added = { name: 'country', type: 'string', default: 'unknown' }
    expect(readAs(recordOf(user, renamed, added))).toEqual({
      user: 'ann',
      views: 300,
      country: 'unknown',
    })
    expect(readAs(recordOf(user))).toEqual({ user: 'ann' })
  })

  it.each([
    ['a new field without a default', recordOf({ name: 'country', type: 'string' })],
    ['a narrower type', recordOf({ name: 'pages', type: 'boolean' })],
  ])('are not read with %s', (_, schema) => {
    expect(readAs(schema)).toMatch(/^the Avro schemas cannot be resolved: /)
  })

  it('are not read from other formats', () => {
    expect(readerOf(VISIT, 'msgpack/1')).toBe('avroFormat does not read msgpack/1')
  })

  it('have an id that defaults and documentation leave as it is', () => {
    const documented = { ...FIRST, doc: 'One visit.' }
    expect(avroFormat(Type, documented).id).toBe(VISIT.id)
    expect(avroFormat(Type, recordOf({ name: 'user', type: 'string' })).id).not.toBe(VISIT.id)
  })
})
