import { expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import {
  addedDigests,
  areSameObservations,
  isObservationsDigest,
  type ObservationsDigest,
  ObservationsDigester,
} from '../../../../src/models/registry/ranges/observations-digest.ts'

type Triple = readonly [user: string, item: string, rating: number]

function digestOf(ratings: readonly Triple[]): ObservationsDigest {
  const digester = new ObservationsDigester()
  for (const [user, item, rating] of ratings) digester.addRating(user, item, rating)
  return digester.digest
}

const RATINGS: readonly Triple[] = Array.from({ length: 1000 }, (_, n) => [
  `u${n % 37}`,
  `i${n % 101}`,
  1 + (n % 9) / 2,
])

it('the digest of ratings and of examples is stored, so it stays the same', () => {
  expect(digestOf([])).toEqual({ format: 1, count: 0, sum: '0000000000000000' })
  expect(digestOf(RATINGS)).toEqual({ format: 1, count: 1000, sum: '2cce0ebf96be27b1' })
  const digester = new ObservationsDigester()
  digester.addExample(-1, Uint32Array.of(3, 70_000), Float32Array.of(0.5, 1e-3))
  expect(digester.digest).toEqual({ format: 1, count: 1, sum: '7b5eb563545e9aa8' })
})

it('the order does not count, and digests of parts add up', () => {
  const random = seededRandom(7)
  const shuffled = [...RATINGS].sort(() => random.next() - 0.5)
  expect(digestOf(shuffled)).toEqual(digestOf(RATINGS))
  const added = addedDigests(digestOf(shuffled.slice(0, 300)), digestOf(shuffled.slice(300)))
  expect(added).toEqual(digestOf(RATINGS))
})

it('one other field, one rating more and a rating that is there twice give another digest', () => {
  const all = digestOf(RATINGS)
  const others: readonly (readonly Triple[])[] = [
    RATINGS.with(500, ['u500', RATINGS[500]![1], RATINGS[500]![2]]),
    RATINGS.with(500, [RATINGS[500]![0], 'x', RATINGS[500]![2]]),
    RATINGS.with(500, [RATINGS[500]![0], RATINGS[500]![1], 1.0000000000000002]),
    RATINGS.slice(1),
    [...RATINGS, RATINGS[0]!],
    RATINGS.with(0, RATINGS[1]!),
  ]
  for (const other of others) expect(areSameObservations(digestOf(other), all)).toBe(false)
  expect(digestOf([['ab', 'c', 1]]).sum).not.toBe(digestOf([['a', 'bc', 1]]).sum)
  expect(digestOf([['a', 'b', 1]]).sum).not.toBe(digestOf([['b', 'a', 1]]).sum)
})

it('ratings that differ little have different digests', () => {
  const sums = new Set<string>()
  for (let n = 0; n < 100_000; n++) sums.add(digestOf([[String(n % 1000), String(n), 3]]).sum)
  expect(sums.size).toBe(100_000)
})

it('an example has the digest of its own ids and values, whatever is behind them', () => {
  const digester = new ObservationsDigester()
  digester.addExample(1, Uint32Array.of(1, 2, 9), Float32Array.of(1, 0.1, 5), 2)
  const bare = new ObservationsDigester()
  bare.addExample(1, Uint32Array.of(1, 2), Float32Array.of(1, 0.1))
  expect(digester.digest).toEqual(bare.digest)
  const other = new ObservationsDigester()
  other.addExample(-1, Uint32Array.of(1, 2), Float32Array.of(1, 0.1))
  expect(areSameObservations(other.digest, bare.digest)).toBe(false)
})

it('a digest of another format, or none, cannot be compared', () => {
  const all = digestOf(RATINGS)
  const later = { ...all, format: 2 } as unknown as ObservationsDigest
  expect(areSameObservations(later, all)).toBeUndefined()
  expect(areSameObservations(all, undefined)).toBeUndefined()
  expect([all, later].every(isObservationsDigest)).toBe(true)
  const wrong = [null, 1, {}, { ...all, sum: 'x' }, { ...all, count: -0.5 }]
  expect(wrong.some(isObservationsDigest)).toBe(false)
})
