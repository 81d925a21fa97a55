import { describe, expect, it } from 'vitest'
import { FeatureHasher, MOST_HASHED } from '../../../src/core/features/hasher.ts'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'

const encoder = new TextEncoder()
const MASK = 2 ** 18 - 1

/** Ids and values: names, crosses of two and of three namespaces. */
const VW_AUDIT = `
  23567:0.3 36415:1 15636:1 184812:1 151172:2 107110:1 154989:1 94920:3 146033:0.3
  173337:0.6 84475:0.3 81089:1 107433:2 151371:1 194448:1 157944:2 99354:1 238222:0.3
  36139:0.9 244534:0.6 38035:1.8 76620:0.3 132329:0.9 65214:1 250139:3 196198:2 119235:6
  36476:1 238041:3 125661:1 181624:3 90885:2 150688:6 43395:1 230950:3`

/** The features of namespaces, as [namespace, names]. */
function hashed(
  crosses: string,
  namespaces: readonly (readonly [string, readonly string[]])[],
  bits = 18,
) {
  const hasher = new FeatureHasher({ bits, crosses })
  hasher.begin()
  for (const [namespace, names] of namespaces) {
    const name = encoder.encode(namespace)
    hasher.enter(name, 0, name.length)
    for (const each of names) {
      const [word = '', value = '1'] = each.split(':')
      const bytes = encoder.encode(word)
      hasher.add(bytes, 0, bytes.length, Number(value))
    }
  }
  const isWhole = hasher.finish()
  const ids = [...hasher.ids.subarray(0, hasher.count)]
  return { isWhole, values: new Map(ids.map((id, k) => [id, hasher.values[k]!])), ids }
}

/** Straight from VW's definition: hash of the name with the hash of the namespace as seed. */
function vwHash(namespace: string, name: string): number {
  const seed = murmur3(encoder.encode(namespace), 0, namespace.length, 0)
  return murmur3(encoder.encode(name), 0, name.length, seed)
}

it('are what the audit of Vowpal Wabbit prints', () => {
  // vw 9.11, -b 18 -q ua --cubic uap --audit --noconstant: 1 |user age:0.3 DE 7 |ad sports price:2 17 |page x 5:3
  const { values } = hashed('user*ad,user*ad*page', [
    ['user', ['age:0.3', 'DE', '7']],
    ['ad', ['sports', 'price:2', '17']],
    ['page', ['x', '5:3']],
  ])
  expect(values.size).toBe(35)
  for (const pair of VW_AUDIT.trim().split(/\s+/)) {
    const [id, value] = pair.split(':').map(Number)
    expect(values.get(id!), pair).toBeCloseTo(value!, 6)
  }
})

describe('names of features', () => {
  it('are hashed with the hash of their namespace as seed', () => {
    const { ids } = hashed('', [
      ['user', ['DE', 'age:0.5']],
      ['ad', ['DE']],
    ])
    const expected = [vwHash('user', 'DE'), vwHash('user', 'age'), vwHash('ad', 'DE')]
    expect(new Set(ids)).toEqual(new Set(expected.map((hash) => hash & MASK)))
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
  })

  it('of digits without a namespace are their number, modulo the number of weights', () => {
    expect(hashed('', [['', ['7', '262144', '262151:2', '4294967303']]]).values).toEqual(
      new Map([
        [0, 1],
        [7, 4],
      ]),
    )
  })

  it('of digits in a namespace are their number plus the hash of the namespace', () => {
    const seed = murmur3(encoder.encode('ad'), 0, 2, 0)
    expect(hashed('', [['ad', ['17']]]).ids).toEqual([(seed + 17) & MASK])
  })
})

it('namespaces of crosses that no example has had are known', () => {
  const hasher = new FeatureHasher({ bits: 18, crosses: 'a*b,b*c' })
  expect(hasher.missing).toEqual(['a', 'b', 'c'])
  hasher.begin()
  hasher.enter(encoder.encode('b'), 0, 1)
  hasher.enter(encoder.encode('d'), 0, 1)
  expect(hasher.missing).toEqual(['a', 'c'])
})

describe('crosses', () => {
  it('have the product of the values, and the combined hash of VW', () => {
    const { values } = hashed('user*ad', [
      ['user', ['DE:2']],
      ['ad', ['sports:3']],
    ])
    const id = (Math.imul(16777619, vwHash('user', 'DE')) ^ vwHash('ad', 'sports')) & MASK
    expect(values.size).toBe(3)
    expect(values.get(id)).toBe(6)
  })

  it('of three namespaces combine the first two before', () => {
    const { values } = hashed('a*b*c', [
      ['c', ['z:5']],
      ['a', ['x:2']],
      ['b', ['y:3']],
    ])
    const two = Math.imul(16777619, vwHash('a', 'x')) ^ vwHash('b', 'y')
    const id = (Math.imul(16777619, two) ^ vwHash('c', 'z')) & MASK
    expect(values.get(id)).toBe(30)
    expect(values.size).toBe(4)
  })

  it('of a namespace with itself have each pair once', () => {
    const { ids } = hashed('a*a', [['a', ['x', 'y', 'z']]])
    expect(ids).toHaveLength(3 + 6)
  })

  it('have nothing where a namespace is missing, and none of the example before', () => {
    const hasher = new FeatureHasher({ bits: 18, crosses: 'a*b' })
    const [a, b, x] = [encoder.encode('a'), encoder.encode('b'), encoder.encode('x')]
    const counts = [a, b, undefined].map((namespace) => {
      hasher.begin()
      if (namespace !== undefined) hasher.enter(namespace, 0, 1)
      hasher.add(x, 0, 1, 1)
      hasher.finish()
      return hasher.count
    })
    expect(counts).toEqual([1, 1, 1])
  })

  it('that make too many features make no example', () => {
    const names = Array.from({ length: 300 }, (_, i) => `f${i}`)
    const side = [
      ['a', names],
      ['b', names],
    ] as const
    expect(300 * 300).toBeGreaterThan(MOST_HASHED)
    expect(hashed('a*b', side).isWhole).toBe(false)
    expect(hashed('', side).isWhole).toBe(true)
  })
})
