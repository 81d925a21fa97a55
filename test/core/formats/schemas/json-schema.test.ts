import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../../src/core/byte-writer.ts'
import { jsonFormat } from '../../../../src/core/formats/json.ts'
import { jsonSchemaFormat } from '../../../../src/core/formats/schemas/json-schema.ts'
import { readerOf, type Serializer } from '../../../../src/core/serializer.ts'

const ajv = new Ajv({ useDefaults: true })
const schemaOf = (properties: object, required: readonly string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const formatOf = (schema: object) => jsonSchemaFormat<object>(schema, ajv.compile(schema))
const FIRST = schemaOf({ pages: { type: 'integer' } }, ['pages'])
const VISIT = formatOf(FIRST)

function bytesOf<T>(serializer: Serializer<T>, value: T): Uint8Array {
  const writer = new ByteWriter(16)
  serializer.write(value, writer)
  return writer.toBytes()
}

function readAs(schema: object, stored: Serializer<object>, value: object): unknown {
  const read = readerOf(formatOf(schema), stored.id)
  return typeof read === 'string' ? read : read(new ByteReader(bytesOf(stored, value)))
}

describe('values of a JSON schema', () => {
  it('are JSON texts', () => {
    const bytes = bytesOf(VISIT, { pages: 3 })
    expect(Buffer.from(bytes).toString()).toBe('{"pages":3}')
    expect(VISIT.read(new ByteReader(bytes))).toEqual({ pages: 3 })
    expect(VISIT.id).toBe(`json-schema/1${JSON.stringify(FIRST)}`)
  })

  it('are refused where they do not fit, and stay as they are', () => {
    expect(() => bytesOf(VISIT, { pages: 1.5 })).toThrow('/pages must be integer')
    expect(() => bytesOf(VISIT, undefined as never)).toThrow('have no JSON')
    expect(() => VISIT.read(new ByteReader(Buffer.from('{"pages":"x"}')))).toThrow(
      /UNPARSABLE_RECORD|does not fit its JSON schema/,
    )
    const withDefault = schemaOf({ pages: { type: 'integer', default: 1 } }, [])
    const given = {}
    expect(Buffer.from(bytesOf(formatOf(withDefault), given)).toString()).toBe('{}')
    expect(given).toEqual({})
  })

  it('get the defaults of another schema', () => {
    const country = { type: 'string', default: 'unknown' }
    const wider = schemaOf({ pages: { type: 'number' }, country }, ['pages', 'country'])
    expect(readAs(wider, VISIT, { pages: 3 })).toEqual({ pages: 3, country: 'unknown' })
  })

  it('are compared with the schema where they were stored without one', () => {
    expect(readAs(FIRST, jsonFormat<object>(), { pages: 3 })).toEqual({ pages: 3 })
    expect(() => readAs(FIRST, jsonFormat<object>(), { pages: 'x' })).toThrow(
      expect.objectContaining({ code: 'STATE_CONFLICT' }),
    )
    expect(readAs(FIRST, { ...jsonFormat<object>(), id: 'csv/1' }, {})).toBe(
      'jsonSchemaFormat does not read csv/1',
    )
  })
})
