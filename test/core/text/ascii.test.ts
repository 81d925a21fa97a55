import { expect, it } from 'vitest'
import { ASCII_ROOM, writeAscii } from '../../../src/core/text/ascii.ts'

/** Lengths on both sides of the one from which on the text is written by a call. */
const LENGTHS = Array.from({ length: 60 }, (_, length) => length)

it.each(LENGTHS)('a text of %i letters is written as one byte each', (length) => {
  const text = Array.from({ length }, (_, i) => String.fromCharCode((i * 37) % 128)).join('')
  const target = new Uint8Array(length + 1 + ASCII_ROOM).fill(200)
  expect(writeAscii(text, target, 1)).toBe(length + 1)
  expect(target[0]).toBe(200)
  expect([...target.subarray(1, length + 1)]).toEqual([...Buffer.from(text)])
})

it.each(['\u0080', 'é', 'ÿ', 'Ā', '€', '\ud800', '😀'])(
  'a text with "%s" is not written, wherever it is and with whatever room',
  (letter) => {
    for (const length of LENGTHS) {
      for (const at of [0, length >> 1, length]) {
        const text = 'a'.repeat(at) + letter + 'a'.repeat(length - at)
        for (const more of [0, 100]) {
          const target = new Uint8Array(text.length + ASCII_ROOM + more)
          expect(writeAscii(text, target, 0)).toBe(-1)
        }
      }
      const target = new Uint8Array((length + 1) * letter.length + ASCII_ROOM)
      expect(writeAscii(letter.repeat(length + 1), target, 0)).toBe(-1)
    }
  },
)

it('a text that was put together is written as a flat one is', () => {
  const parts = ['https://example.org/', 'apple', '/item.htm']
  const target = new Uint8Array(64)
  expect(writeAscii(parts[0]! + parts[1]! + parts[2]!, target, 0)).toBe(34)
  expect(Buffer.from(target.subarray(0, 34)).toString()).toBe(parts.join(''))
})
