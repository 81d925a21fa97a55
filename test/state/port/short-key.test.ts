import { describe, expect, it } from 'vitest'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { encodePrefix } from '../../../src/state/port/composite-key.ts'
import { LONG, ShortKey } from '../../../src/state/port/short-key.ts'
import { campaignSize } from '../../run/campaign-size.ts'

const NOTHING = new Uint8Array(0)
const random = seededRandom(70)
const bytes = (length: number): Uint8Array =>
  Uint8Array.from({ length }, () => random.below(4) * 85)

function shortOf(key: Uint8Array): { form: number; rest: number } {
  const short = new ShortKey()
  short.take(key, key.length)
  return { form: short.form, rest: short.rest }
}

const KEYS = campaignSize(200_000, 400_000)

/** Two keys of one hash; if `key(n)` were any bytes, there would be some. */
function sameHash(
  key: (n: number) => Uint8Array,
  count = KEYS,
): [Uint8Array, Uint8Array] | undefined {
  const hashes = Uint32Array.from({ length: count }, (_, n) => murmur3(key(n)) >>> 0)
  const sorted = hashes.toSorted()
  const twice = sorted.find((hash, i) => hash === sorted[i + 1])
  if (twice === undefined) return undefined
  return [key(hashes.indexOf(twice)), key(hashes.lastIndexOf(twice))]
}

/** Writes a different number for each `n` into four bytes of a key. */
function withNumber(key: Uint8Array, at: readonly number[], n: number): Uint8Array {
  const number = Math.imul(n + 1, 0x9e3779b1)
  for (const [i, place] of at.entries()) key[place] = number >>> (8 * i)
  return key
}

describe('a short key', () => {
  it.each([4, 8])(
    'of %i bytes has a hash of its own among those of its form and rest',
    (length) => {
      const last = [4, 3, 2, 1].map((back) => length - back)
      const key = (n: number) => withNumber(new Uint8Array(length).fill(7), last, n)
      expect(shortOf(key(1))).toEqual(shortOf(key(2)))
      expect(sameHash(key)).toBeUndefined()
    },
  )

  it.each([1, 2, 3, 5, 6, 7])('of %i bytes, too', (length) => {
    const free = length > 4 ? length - 4 : length
    const count = Math.min(256 ** free, KEYS)
    const key = (n: number): Uint8Array => {
      const bytes = new Uint8Array(length).fill(9)
      for (let i = 0; i < free; i++) bytes[length - free + i] = n >>> (8 * i)
      return bytes
    }
    expect(shortOf(key(0)).form).toBe(shortOf(key(1)).form)
    expect(sameHash(key, count)).toBeUndefined()
  })

  it('of a number, too', () => {
    const key = (n: number) =>
      withNumber(Uint8Array.of(0xf8, 1, 2, 3, 0, 0, 0, 0, 8), [4, 5, 6, 7], n)
    expect(shortOf(key(1))).toEqual(shortOf(key(2)))
    expect(sameHash(key)).toBeUndefined()
  })

  it('of the same hash as another one has another rest', () => {
    const key = (n: number) => withNumber(new Uint8Array(8), [0, 2, 5, 7], n)
    const [a, b] = sameHash(key)!
    expect(shortOf(a).form).toBe(shortOf(b).form)
    expect(shortOf(a).rest).not.toBe(shortOf(b).rest)
  })

  it('is the same by its composite key', () => {
    const short = new ShortKey()
    for (let n = 0; n < 500; n++) {
      const key = n % 3 === 0 ? Uint8Array.of(0xf8, ...bytes(8)) : bytes(random.below(14))
      const composite = encodePrefix(key, NOTHING)
      short.takeComposite(Buffer.concat([composite, bytes(3)]), composite.length)
      expect({ form: short.form, rest: short.form === LONG ? 0 : short.rest }).toEqual({
        ...shortOf(key),
        rest: shortOf(key).form === LONG ? 0 : shortOf(key).rest,
      })
    }
  })

  it('has no namespace, no map key, at most eight bytes, or nine of a number', () => {
    const short = new ShortKey()
    const withNamespace = encodePrefix(bytes(3), bytes(2))
    short.takeComposite(withNamespace, withNamespace.length)
    expect(short.form).toBe(LONG)
    const withMapKey = Buffer.concat([encodePrefix(bytes(3), NOTHING), bytes(2)])
    short.takeComposite(withMapKey, withMapKey.length)
    expect(short.form).toBe(LONG)
    expect(shortOf(new Uint8Array(9)).form).toBe(LONG)
    expect(shortOf(Uint8Array.of(0xf8, ...new Uint8Array(9))).form).toBe(LONG)
  })
})
