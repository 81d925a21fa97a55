import { describe, expect, it } from 'vitest'
import { KeyOffsetMap } from '../../../../src/connectors/log/cleaning/key-offset-map.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { bytes, text } from '../fixture.ts'

describe('KeyOffsetMap', () => {
  it('equals a Map over many keys', () => {
    const random = seededRandom(5)
    const map = new KeyOffsetMap()
    const plain = new Map<string, number>()
    for (let i = 0; i < 50_000; i++) {
      const key = bytes(`key-${random.below(20_000)}`)
      map.set(key, 0, key.length, i)
      plain.set(text(key), i)
    }
    expect(map.size).toBe(plain.size)
    for (const [key, offset] of plain) {
      const encoded = bytes(key)
      if (map.get(encoded, 0, encoded.length) !== offset) expect.fail(`wrong offset of ${key}`)
    }
    expect(map.get(bytes('none'), 0, 4)).toBe(-1)
  })
})
