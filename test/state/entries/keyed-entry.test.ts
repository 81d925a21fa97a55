import { describe, expect, it } from 'vitest'
import { KeyedEntry, LIVE, REFERENCED } from '../../../src/state/entries/keyed-entry.ts'

const values = [1, -0, 0.5, 2 ** 40, -3, Number.NaN, 'text', 7.25, { a: 1 }, 2 ** 31, undefined]

describe('KeyedEntry', () => {
  it.each(values)('holds %s after any other value', (value) => {
    const entry = new KeyedEntry(0, 'key', 0)
    for (const before of values) {
      entry.value = before
      expect(entry.value).toBe(before)
      entry.value = value
      expect(entry.value).toBe(value)
    }
  })

  it('keeps its key group and the form of its key whatever its marks are, and its marks apart', () => {
    const entry = new KeyedEntry(0, 'key', 32_767, 10, -1)
    for (let flags = 1; flags < 256; flags *= 2) {
      entry.flags |= flags
      expect(entry.flags).toBe(2 * flags - 1)
      expect([entry.keyGroup, entry.keyForm, entry.keyRest]).toEqual([32_767, 10, -1])
    }
    entry.flags &= ~LIVE
    expect(entry.flags).toBe(254)
    entry.flags = 0
    expect([entry.keyGroup, entry.keyForm]).toEqual([32_767, 10])
    const other = new KeyedEntry(0, 'key', 0)
    other.flags = 255
    expect([other.keyGroup, other.keyForm]).toEqual([0, 0])
  })

  it('has the time 0 until it has another one', () => {
    const entry = new KeyedEntry(0, 'key', 0)
    expect(entry.time).toBe(0)
    for (const time of [1, Number.MAX_SAFE_INTEGER, -(2 ** 40), 0]) {
      entry.time = time
      expect(entry.time).toBe(time)
    }
  })

  it('keeps its marks when its value becomes another kind of number', () => {
    const entry = new KeyedEntry(0, 'key', 0)
    entry.flags = LIVE
    entry.value = 0.5
    entry.flags |= REFERENCED
    entry.value = 'text'
    expect(entry.flags).toBe(LIVE | REFERENCED)
  })

  it('keeps the box of a number when the number becomes whole', () => {
    const entry = new KeyedEntry(0, 'key', 0)
    const { flags } = entry
    entry.value = 0.5
    const boxed = entry.flags
    entry.value = 1
    expect(boxed).not.toBe(flags)
    expect(entry.flags).toBe(boxed)
    entry.value = 'text'
    expect(entry.flags).toBe(flags)
  })
})
