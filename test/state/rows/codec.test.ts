import { expect, test } from 'vitest'
import {
  decodeVectorFloats,
  decodeVectorRow,
  encodeVectorRow,
} from '../../../src/state/rows/codec.ts'
import { bytesOf, V1, VectorFixture } from '../vector/model.ts'

const ORIGIN = { partition: 3, offset: 2 ** 33 + 5, eventTime: 1000.5 }

test('the bytes of a row are those of the drawing', () => {
  const bytes = encodeVectorRow(Float32Array.of(1, -2), ORIGIN, 258)
  expect(Buffer.from(bytes).toString('hex')).toBe(
    [
      '01000000',
      '02010000',
      '03000000',
      '00000000',
      // 2^33 + 5 as a double: exponent 0x420, mantissa 5 x 2^19
      '0000280000000042',
      '0000000000448f40',
      '0000803f',
      '000000c0',
    ].join(''),
  )
})

test('a row decodes to what was encoded', () => {
  const bytes = encodeVectorRow(Float32Array.of(1, -2, 3, 4), ORIGIN, 7)
  const row = decodeVectorRow(bytes, 4)
  expect(row).toMatchObject({ ...ORIGIN, updateCount: 7 })
  expect([...row.vector]).toEqual([1, -2, 3, 4])
})

test('the table encodes its rows in the same form, but for the write epoch', () => {
  const fixture = new VectorFixture()
  const vector = Float32Array.of(1, -2, 3, 4)
  fixture.tables.put(V1, bytesOf('1'), vector, ORIGIN)
  const [answer] = fixture.tables.answerRows(1, [bytesOf('1')])
  expect(answer).toMatchObject({ kind: 'found', value: encodeVectorRow(vector, ORIGIN, 1) })
})

test('a newer version is UNSUPPORTED_VERSION', () => {
  const bytes = encodeVectorRow(Float32Array.of(1), ORIGIN, 1)
  bytes[0] = 2
  expect(() => decodeVectorFloats(bytes, 1)).toThrow(
    expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
  )
})

test('too few bytes are MALFORMED_DATA', () => {
  const bytes = encodeVectorRow(Float32Array.of(1), ORIGIN, 1)
  expect(() => decodeVectorFloats(bytes, 2)).toThrow(
    expect.objectContaining({ code: 'MALFORMED_DATA' }),
  )
})
