import { describe, expect, it } from 'vitest'
import {
  bytesOfLatin1,
  equalsLatin1,
  latin1Of,
  writeLatin1,
} from '../../../src/core/text/latin1.ts'

const all = Uint8Array.from({ length: 256 }, (_, byte) => byte)

describe('latin1Of', () => {
  it('gives a character for each byte, whatever it is', () => {
    expect(latin1Of(all)).toBe(String.fromCharCode(...all))
    expect(bytesOfLatin1(latin1Of(all))).toEqual(all)
  })

  it.each([0, 1, 40, 41, 200])('gives %i bytes from where they start', (length) => {
    const text = latin1Of(all, length, 7)
    expect(text).toBe(String.fromCharCode(...all.subarray(7, 7 + length)))
    expect(equalsLatin1(text, all.subarray(7), length)).toBe(true)
  })

  it('gives those of a view, and of memory that threads share', () => {
    expect(latin1Of(all.subarray(65, 68), 2, 1)).toBe('BC')
    const shared = new Uint8Array(new SharedArrayBuffer(100), 50)
    shared.set(all.subarray(65, 68))
    expect(latin1Of(shared, 3)).toBe('ABC')
  })

  it.each([0, 17, 18, 200])('and back, in the middle of others: %i', (length) => {
    const target = new Uint8Array(length + 2)
    expect(writeLatin1(latin1Of(all, length, 50), target, 1)).toBe(length + 1)
    expect([...target]).toEqual([0, ...all.subarray(50, 50 + length), 0])
  })

  it('stays as it is when the bytes change', () => {
    const bytes = all.slice(65, 68)
    const text = latin1Of(bytes)
    bytes.fill(0)
    expect(text).toBe('ABC')
  })
})
