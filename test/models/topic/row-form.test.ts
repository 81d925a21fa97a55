import { describe, expect, it } from 'vitest'
import {
  blockWeightsIn,
  floatsHeader,
  floatsOfRow,
  mayBeText,
  textRowIn,
} from '../../../src/models/topic/row-form.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const none = () => []
const read = (key: string | null, text: string) =>
  textRowIn(key === null ? null : bytesOf(key), bytesOf(text), none)

describe('a text row', () => {
  it('is read with any key and with none, as version 1 unless the key says another', () => {
    const factors = Float32Array.of(0.5, -1e-3)
    for (const [key, version] of [
      [null, 1],
      ['k', 1],
      ['7', 1],
      ['k@3', 3],
      ['1-U', 1],
      ['1-U@4', 4],
    ] as const) {
      expect(read(key, '1,U,0.5;-1e-3')).toEqual({ key: '1-U', version, factors })
    }
    expect(read('2-I@2', '2,I,0.5;-1e-3\r\n')).toEqual({ key: '2-I', version: 2, factors })
  })

  it('under the key of another row is refused', () => {
    for (const key of ['2-U', '1-I', '11-U@2']) {
      expect(() => read(key, '1,U,0.5')).toThrow(/the text row of 1-U has the key of another row/)
    }
  })

  it.each(['', '1,U', '1,U,', '1,X,0.5', '1,U,0.5;x1', '0.5;1.5', '7,2.5'])('is not %j', (text) => {
    expect(read('1-U', text)).toBeUndefined()
  })

  it('is not what says that it is floats, or is no UTF-8', () => {
    const header = [{ key: 'f32', value: null }]
    expect(textRowIn(bytesOf('1-U'), bytesOf('1,U,0.5'), () => header)).toBeUndefined()
    expect(textRowIn(bytesOf('1-U'), Uint8Array.of(0xff, 0x2c, 0x31), none)).toBeUndefined()
  })
})

describe('the header of floats', () => {
  it('is the key f32 without a value, and only where the last byte could end a text', () => {
    // The floats 1, 2 and the first 16 bytes of the text of a row.
    const plain = Uint8Array.of(0, 0, 0x80, 0x3f, 0, 0, 0, 0x40)
    const text = bytesOf('1,U,0.5;1.5;2;-1')
    expect([floatsHeader(plain), floatsHeader(text)]).toEqual([[], [{ key: 'f32', value: null }]])
  })

  it('is asked for by the ends of all numbers and lines', () => {
    for (const text of ['7', '1.', '1 ', '1\r', '1\n', '1\t']) {
      expect(mayBeText(bytesOf(text), 0, text.length)).toBe(true)
    }
    expect([mayBeText(bytesOf('1;'), 0, 2), mayBeText(bytesOf(''), 0, 0)]).toEqual([false, false])
    // Within the bytes of a batch.
    expect([mayBeText(bytesOf('a1b'), 1, 1), mayBeText(bytesOf('a1b'), 1, 2)]).toEqual([
      true,
      false,
    ])
  })
})

it('the text of weights is read under the key of a block, unless it says that it is floats', () => {
  expect(blockWeightsIn(bytesOf('7,2.5'), [])).toEqual({ features: [7], weights: [2.5] })
  expect(blockWeightsIn(bytesOf('0,7:2.5;8:1'), [])).toMatchObject({ features: [7, 8] })
  expect(blockWeightsIn(bytesOf('7,2.5'), [{ key: 'f32', value: null }])).toBeUndefined()
  expect(blockWeightsIn(bytesOf('weights7'), [])).toBeUndefined()
})

it('the floats of a row are those of its text, or a fourth of its bytes', () => {
  const floats = (key: string | null, value: Uint8Array) =>
    floatsOfRow(key === null ? null : bytesOf(key), value, none)
  const zeros = (length: number) => new Uint8Array(length)
  expect(floats('1-U@2', zeros(12))).toBe(3)
  expect(floats('1-U', bytesOf('1,U,1;2'))).toBe(2)
  expect(floats(null, bytesOf('1,U,1;2;3;4'))).toBe(4)
  expect(floats('0-W@2', zeros(64))).toBe(16)
  // A text weight does not say how long a block is, and three bytes are no floats.
  expect([floats('0-W', bytesOf('1234,123')), floats('k', bytesOf('7,2.5'))]).toEqual([
    undefined,
    undefined,
  ])
  expect([floats('1-U', zeros(3)), floats('k', zeros(8))]).toEqual([undefined, undefined])
})
