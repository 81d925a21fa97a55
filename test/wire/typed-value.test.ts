import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../src/core/formats/msgpack-serializer.ts'
import { float64Serializer, type Serializer, stringSerializer } from '../../src/core/serializer.ts'
import { decodeTypedValue } from '../../src/wire/typed-value.ts'

function packed<T>(serializer: Serializer<T>, value: T): Uint8Array {
  const writer = new ByteWriter()
  serializer.write(value, writer)
  return writer.toBytes()
}

/** Elements as list and map state answer them: each with its byte count. */
function sized(...parts: readonly Uint8Array[]): Uint8Array {
  const writer = new ByteWriter()
  for (const part of parts) writer.sized(part)
  return writer.toBytes()
}

const text = msgpackSerializer<unknown>()

describe('the decoded value of typed state', () => {
  it.each(['value', 'reducing', 'aggregating'])('of kind %s is what was stored', (kind) => {
    const bytes = packed(text, { views: 3 })
    expect(decodeTypedValue(kind, bytes, {})).toEqual({ views: 3 })
  })

  it('of a list is an array, of a map a Map', () => {
    const list = sized(packed(text, 'a'), packed(text, [1, 2]))
    expect(decodeTypedValue('list', list, {})).toEqual(['a', [1, 2]])
    const map = sized(packed(text, 'k'), packed(text, 1), packed(text, 'l'), packed(text, 2))
    expect(decodeTypedValue('map', map, {})).toEqual(
      new Map([
        ['k', 1],
        ['l', 2],
      ]),
    )
    expect(decodeTypedValue('list', new Uint8Array(), {})).toEqual([])
  })

  it('is read by the serializers that are given', () => {
    const bytes = sized(packed(stringSerializer, 'k'), packed(float64Serializer, 0.5))
    const options = { serializer: float64Serializer, mapKeySerializer: stringSerializer }
    expect(decodeTypedValue('map', bytes, options as never)).toEqual(new Map([['k', 0.5]]))
  })

  it('of an unknown kind is refused', () => {
    expect(() => decodeTypedValue('graph', new Uint8Array(), {})).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED' }),
    )
  })
})
