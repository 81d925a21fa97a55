import { expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { readableValue } from '../../../src/core/formats/readable-value.ts'

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
