import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { shortAscii, shortText, writeShortText } from '../../../src/core/text/short-text.ts'

/** The bytes of a text between others. */
function amidst(text: string) {
  const bytes = Buffer.from(text)
  const all = Buffer.concat([Buffer.from('é'), bytes, Buffer.from('é')])
  return [all, 2, 2 + bytes.length] as const
}

describe('a short text', () => {
  it.each(['', 'x', 'abcdefg', 'abcdefgh', '0123456789abcdef', '0123456789abcdefg', 'ü', 'a€b'])(
    'of %j is read as it was written',
    (text) => {
      const writer = new ByteWriter(1)
      writeShortText(text, writer)
      expect(Buffer.from(writer.toBytes()).toString()).toBe(text)
      expect(shortText(...amidst(text))).toBe(text)
    },
  )

  it('is read without the decoder where it is of a few ASCII characters, and nowhere else', () => {
    expect(shortAscii(...amidst('x_0'))).toBe('x_0')
    expect(shortAscii(...amidst(''))).toBe('')
    expect(shortAscii(...amidst('0123456789abcdefg'))).toBeUndefined()
    expect(shortAscii(...amidst('ü'))).toBeUndefined()
  })

  it('that is not UTF-8 is refused', () => {
    expect(() => shortText(Uint8Array.of(0x61, 0xff), 0, 2)).toThrow(TypeError)
  })
})
