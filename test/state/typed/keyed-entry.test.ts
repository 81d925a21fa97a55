import { describe, expect, it } from 'vitest'
import { KeyedEntry, LIVE, REFERENCED } from '../../../src/state/typed/keyed-entry.ts'

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

  it('keeps its marks when its value becomes another kind of number', () => {
    const entry = new KeyedEntry(0, 'key', 0)
    entry.flags = LIVE
    entry.value = 0.5
    entry.flags |= REFERENCED
    entry.value = 1
    expect(entry.flags).toBe(LIVE | REFERENCED)
    entry.value = 1.5
    entry.value = 'text'
    expect(entry.flags).toBe(LIVE | REFERENCED)
  })
})
