import { expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { latin1Of } from '../../../src/core/text/latin1.ts'
import { encodePrefix, isCompositeOf } from '../../../src/state/port/composite-key.ts'
import { entryHash, mapEntryHash, prefixHash } from '../../../src/state/port/entry-hash.ts'
import { KeySelection } from '../../../src/state/port/key-selection.ts'

const random = seededRandom(8)
const part = (most = 6): Uint8Array =>
  Uint8Array.from({ length: random.below(most) }, () => [0, 1, 7, 0xff][random.below(4)]!)

it('an entry has the same hash by its selection and by its composite key', () => {
  const selection = new KeySelection()
  for (let n = 0; n < 500; n++) {
    const [key, namespace, mapKey] = [part(), part(), part(300)]
    selection.select(key, 0)
    selection.selectNamespace(namespace)
    selection.locate()
    const composite = new ByteWriter()
    composite.raw(encodePrefix(key, namespace))
    expect(entryHash('value', composite.toBytes())).toBe(selection.hash)
    composite.raw(mapKey)
    expect(entryHash('map', composite.toBytes())).toBe(
      mapEntryHash(selection.hash, mapKey, mapKey.length),
    )
  }
})

it('a timer has the hash of all its bytes, which orders those of one moment', () => {
  const bytes = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 9, 1, 0, 1, 0, 1)
  expect(entryHash('timers', bytes)).toBe(murmur3(bytes) | 0)
})

it('keys of one key group, with and without a namespace, go to different buckets', () => {
  const buckets = new Set<number>()
  const ofWindows = new Set<number>()
  for (let n = 0; n < 16; n++) {
    // A multiple of 128 more: the key group is the same.
    buckets.add(prefixHash(5 + 128 * n, new Uint8Array(0)) & 15)
    ofWindows.add(prefixHash(5, Uint8Array.of(n)) & 15)
  }
  expect(buckets.size).toBeGreaterThan(6)
  expect(ofWindows.size).toBeGreaterThan(6)
})

it('a composite key is that of its own key and namespace alone', () => {
  const pairs = Array.from({ length: 60 }, () => [part(4), part(4)] as const)
  for (const [key, namespace] of pairs) {
    const text = latin1Of(encodePrefix(key, namespace))
    for (const [otherKey, otherNamespace] of pairs) {
      const isSame = text === latin1Of(encodePrefix(otherKey, otherNamespace))
      expect(isCompositeOf(text, otherKey, otherNamespace)).toBe(isSame)
    }
    expect(isCompositeOf(`${text}m`, key, namespace)).toBe(false)
    expect(isCompositeOf(text.slice(0, -1), key, namespace)).toBe(false)
  }
})
