import { expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { readableValue } from '../../../src/core/formats/readable-value.ts'
import {
  bytesSerializer,
  float32VectorSerializer,
  float64Serializer,
  int53Serializer,
  stringSerializer,
} from '../../../src/core/serializer.ts'

function packed(value: unknown): Uint8Array {
  const writer = new ByteWriter(16)
  msgpackSerializer<unknown>().write(value, writer)
  return writer.toBytes()
}

it.each([
  [
    { mean: 0.5, count: 3 },
    { mean: 0.5, count: 3 },
  ],
  [new Map([[1, 'a']]), [[1, 'a']]],
  [
    { set: new Set([1]), big: 5n },
    { set: [1], big: '5' },
  ],
  [new Float32Array([1.5]), [1.5]],
])('a value of MessagePack is shown as JSON', (value, shown) => {
  expect(readableValue(packed(value))).toEqual(shown)
})

it('other bytes are shown as text if they are UTF-8, else as hexadecimal digits', () => {
  expect(readableValue(Buffer.from('open for 5 s'))).toBe('open for 5 s')
  expect(readableValue(Uint8Array.of(0xc1, 0xff))).toBe('c1ff')
})

it('a list is shown as an array and a map as pairs', () => {
  const parts = new ByteWriter(16)
  for (const value of ['a', 1, 'b', { n: 2 }]) parts.sized(packed(value))
  const bytes = parts.toBytes()
  expect(readableValue(bytes, { kind: 'list' })).toEqual(['a', 1, 'b', { n: 2 }])
  expect(readableValue(bytes, { kind: 'map' })).toEqual([
    ['a', 1],
    ['b', { n: 2 }],
  ])
})

it.each<[string, unknown]>([
  ['string/1', '5'],
  ['float64/1', 2.5],
  ['int53/1', -7],
  ['bytes/1', '0a0b'],
  ['float32-vector/1', [1.5, -2]],
])('a value of the serializer %s is shown as that serializer reads it', (valueFormat, shown) => {
  const all: Readonly<Record<string, (writer: ByteWriter) => void>> = {
    'string/1': (writer) => stringSerializer.write('5', writer),
    'float64/1': (writer) => float64Serializer.write(2.5, writer),
    'int53/1': (writer) => int53Serializer.write(-7, writer),
    'bytes/1': (writer) => bytesSerializer.write(Uint8Array.of(10, 11), writer),
    'float32-vector/1': (writer) => float32VectorSerializer.write(Float32Array.of(1.5, -2), writer),
  }
  const writer = new ByteWriter(16)
  all[valueFormat]!(writer)
  expect(readableValue(writer.toBytes(), { kind: 'value', valueFormat })).toEqual(shown)
})

it('keys of a map are shown by their own serializer', () => {
  const writer = new ByteWriter(16)
  writer.sized(Buffer.from('5'))
  writer.sized(packed({ n: 1 }))
  const format = { kind: 'map', mapKeyFormat: 'string/1', valueFormat: 'msgpack/1' }
  expect(readableValue(writer.toBytes(), format)).toEqual([['5', { n: 1 }]])
})
