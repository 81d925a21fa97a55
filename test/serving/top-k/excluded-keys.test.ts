import { describe, expect, it } from 'vitest'
import { ExcludedKeys, hashOfKey } from '../../../src/serving/top-k/excluded-keys.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const isExcluded = (keys: readonly string[], key: string): boolean => {
  const row = bytesOf(`before${key}after`)
  return new ExcludedKeys(keys).has(row, 'before'.length, bytesOf(key).length)
}

describe('keys that a top list leaves out', () => {
  it('are those with the same bytes', () => {
    const keys = ['1-I', 'ü-I', '12-I', '12-I']
    for (const key of keys) expect(isExcluded(keys, key)).toBe(true)
    for (const key of ['2-I', '1-', '1-II', 'u-I', '', '112-I']) {
      expect(isExcluded(keys, key)).toBe(false)
    }
  })

  it('are none where none are named', () => {
    expect(isExcluded([], '')).toBe(false)
  })

  it('are kept apart from others with the same hash', () => {
    const [one, other] = ['Aa-I', 'BB-I'].map(bytesOf)
    expect(hashOfKey(one!, 0, 4)).toBe(hashOfKey(other!, 0, 4))
    expect(isExcluded(['Aa-I'], 'BB-I')).toBe(false)
    expect(isExcluded(['Aa-I', 'BB-I'], 'BB-I')).toBe(true)
  })
})
