import { describe, expect, it } from 'vitest'
import {
  bytesText,
  durationText,
  numberText,
  percentText,
  timeText,
  watermarkText,
} from '../../dashboard/src/format.ts'

describe('texts of the dashboard', () => {
  it.each([
    [0, '0'],
    [0.12345, '0.1235'],
    [2.345, '2.35'],
    [123.6, '124'],
    [9999, '9,999'],
    [12_345, '12.3k'],
    [4_560_000, '4.56M'],
    [7.89e9, '7.89G'],
    [Number.NaN, '–'],
  ])('write the number %d as %s', (value, text) => {
    expect(numberText(value)).toBe(text)
  })

  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KiB'],
    [20 * 2 ** 20, '20 MiB'],
    [3 * 2 ** 40, '3 TiB'],
  ])('write %d bytes as %s', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text)
  })

  it.each([
    [-1, '–'],
    [35.4, '35 ms'],
    [4200, '4.2 s'],
    [59_999, '59 s'],
    [200_000, '3 min 20 s'],
    [18_420_000, '5 h 7 min'],
    [183_600_000, '2 d 3 h'],
  ])('write %d ms as %s', (ms, text) => {
    expect(durationText(ms)).toBe(text)
  })

  it('write shares, times and watermarks, and a dash for what is unknown', () => {
    expect([percentText(0.424), percentText(Number.NaN)]).toEqual(['42 %', '–'])
    expect(timeText(new Date(2026, 1, 3, 4, 5, 6).getTime())).toBe('2026-02-03 04:05:06')
    expect(timeText(-1)).toBe('–')
    expect(watermarkText(-(2 ** 63))).toBe('none yet')
    expect(watermarkText(Number.MIN_SAFE_INTEGER)).toBe('none yet')
    expect(watermarkText(Number.MAX_SAFE_INTEGER)).toBe('end of the input')
  })
})
