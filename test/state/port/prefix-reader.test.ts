import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { latin1Of } from '../../../src/core/text/latin1.ts'
import { encodePrefix } from '../../../src/state/port/composite-key.ts'
import { PrefixReader } from '../../../src/state/port/prefix-reader.ts'

it('key and namespace come back from text, after what stands before it', () => {
  const random = seededRandom(5)
  const reader = new PrefixReader()
  const part = (most: number): Uint8Array =>
    Uint8Array.from({ length: random.below(most) }, () => [0, 1, 7, 0xff][random.below(4)]!)
  for (let n = 0; n < 500; n++) {
    const parts = { key: part(n % 50 === 0 ? 300 : 6), namespace: part(6) }
    reader.read(`\0\x01${latin1Of(encodePrefix(parts.key, parts.namespace))}`, 2)
    expect({ key: reader.key, namespace: reader.namespace }).toEqual(parts)
  }
})

it('a composite key without an end is refused', () => {
  const reader = new PrefixReader()
  for (const text of ['\x01\x02\0\x01\x03', '\x01\0', '']) {
    expect(() => reader.read(text, 0)).toThrow(/no end/)
  }
})
