import { describe, expect, it } from 'vitest'
import { keyText } from '../../../src/core/formats/key-text.ts'
import { askedKey, listedKey, requireOrder } from '../../../src/wire/state/formatted-key.ts'

const bytesOf = (text: string, format: string | undefined): number[] => [...askedKey(text, format)]
const utf8 = (text: string): number[] => [...new TextEncoder().encode(text)]
const FIVE = [5, 0, 0, 0, 0, 0, 0, 0]
const HALF = [0, 0, 0, 0, 0, 0, 0xe0, 0x3f]

describe('a key that a query asks for by its text', () => {
  it('has the bytes of the serializer of numbers that the job has', () => {
    expect(bytesOf('5', 'int53/1')).toEqual(FIVE)
    expect(bytesOf(keyText(5), 'int53/1')).toEqual(FIVE)
    expect(bytesOf('0.5', 'float64/1')).toEqual(HALF)
    expect(bytesOf('5.5', 'int53/1')).toEqual(utf8('5.5'))
  })

  it('is itself elsewhere', () => {
    for (const format of ['key/1', 'string/1', 'bytes/1', undefined]) {
      expect(bytesOf('5', format)).toEqual(utf8('5'))
    }
  })
})

describe('a key in a list', () => {
  it('is the number that the serializer of the job wrote, and is found by that', () => {
    expect(listedKey(Uint8Array.from(FIVE), 'int53/1')).toBe(keyText(5))
    expect(listedKey(Uint8Array.from(HALF), 'float64/1')).toBe(keyText(0.5))
    const minusTwo = [0xfe, ...Array<number>(7).fill(0xff)]
    expect(listedKey(Uint8Array.from(minusTwo), 'int53/1')).toBe(keyText(-2))
    expect(listedKey(Uint8Array.from(utf8('u5')), 'string/1')).toBe('u5')
  })

  it('has the bytes that are asked for, whatever they are', () => {
    const keys = [
      ...[FIVE, HALF, [...FIVE, 0], [5], []],
      ...[Array<number>(8).fill(0xff), [0, 0, 0, 0, 0, 0, 0, 0x80], [0, 0, 0, 0, 0, 0, 0xf0, 0x7f]],
    ]
    for (const format of ['int53/1', 'float64/1', 'key/1', undefined]) {
      for (const key of keys) {
        expect(
          bytesOf(listedKey(Uint8Array.from(key), format), format),
          `${format} ${key}`,
        ).toEqual(key)
      }
    }
  })

  it('has no range that ends at a number where the bytes have another order', () => {
    expect(() => requireOrder('S', keyText(8), 'int53/1')).toThrow(
      'the keys of "S" have the bytes of "int53/1", whose order is not that of the numbers, so that no range of them ends at 8',
    )
    requireOrder('S', keyText(8), 'key/1')
    requireOrder('S', '\u{10ffff}', 'int53/1')
  })
})
