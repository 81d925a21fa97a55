import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import {
  bytesOfKeyText,
  keyOfText,
  keyText,
  otherKeyOf,
  readableKey,
  textOfKeyBytes,
} from '../../../src/core/formats/key-text.ts'
import type { PlainKey } from '../../../src/core/formats/plain-key.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'

const KEYS: readonly PlainKey[] = [
  '',
  'a',
  'ü\0',
  '5',
  0,
  -1.5,
  5,
  1e300,
  true,
  false,
  5n,
  -12345678901234567890n,
  [],
  ['u5', 5],
  [true, [21n, '', 10.5]],
]

function bytesOf(key: PlainKey): Uint8Array {
  const writer = new ByteWriter(16)
  plainKeySerializer<PlainKey>().write(key, writer)
  return writer.bytes.slice(0, writer.length)
}

describe('the text of a key', () => {
  it('has the bytes that keyBy gives the key, and the other way round', () => {
    for (const key of KEYS) {
      const text = keyText(key)
      expect(Buffer.compare(bytesOfKeyText(text), bytesOf(key)), text).toBe(0)
      expect(textOfKeyBytes(bytesOf(key))).toBe(text)
      expect(keyOfText(text)).toEqual(key)
    }
  })

  it('that ends with U+0000 has the smallest bytes after the key, and U+10FFFF alone the last of all', () => {
    for (const key of KEYS) {
      const after = Buffer.concat([bytesOf(key), Uint8Array.of(0)])
      expect(Buffer.compare(bytesOfKeyText(`${keyText(key)}\0`), after)).toBe(0)
      expect(textOfKeyBytes(after)).toBe(`${keyText(key)}\0`)
      expect(Buffer.compare(bytesOfKeyText('\u{10ffff}'), after)).toBe(1)
    }
  })

  it('of bytes that are no UTF-8 and no plain key is their digits, and of a byte order mark itself', () => {
    for (const bytes of [[0xfb, 0xff, 0xff], [0x80], [0xf8, 1, 0], [0xef, 0xbb, 0xbf, 0x61]]) {
      const key = Uint8Array.from(bytes)
      expect([...bytesOfKeyText(textOfKeyBytes(key))]).toEqual(bytes)
    }
    expect(readableKey(textOfKeyBytes(Uint8Array.of(0xfb, 0xff)))).toBe('0xfbff')
  })

  it('is its JSON for people', () => {
    expect(readableKey(keyText(['u5', 5]))).toBe('["u5",5]')
    expect(readableKey(keyText('5'))).toBe('5')
  })

  it('of a number that is not finite, or before what is no key, is refused', () => {
    expect(() => keyText(Number.POSITIVE_INFINITY)).toThrow('a finite number, not Infinity')
    expect(() => bytesOfKeyText('\u{10ffff}{"a":1}')).toThrow('U+10FFFF')
  })

  it('may be that of another key as JSON', () => {
    expect(['5', '-1.5', 'true', '7n', '["u5",5]', '{"bigint":"5"}'].map(otherKeyOf)).toEqual([
      5,
      -1.5,
      true,
      7n,
      ['u5', 5],
      5n,
    ])
    expect(['a', '"a"', 'null', '{"a":1}', '5x', '[null]', '1-U', ''].map(otherKeyOf)).toEqual(
      new Array(8).fill(undefined),
    )
  })
})
