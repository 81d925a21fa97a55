import { expect, it } from 'vitest'
import { SharedPairs, warnOfShared } from '../../../src/cli/training/shared-pairs.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { ObservationsDigester } from '../../../src/models/registry/ranges/observations-digest.ts'
import { recordedIo } from '../recorded-io.ts'

const RATINGS: readonly Rating[] = [
  { user: 'a', item: 'x', rating: 1, timestamp: -1 },
  { user: 'a', item: 'y', rating: 2, timestamp: -1 },
  { user: 'b', item: 'x', rating: 3, timestamp: -1 },
]

async function* pieces(): AsyncGenerator<readonly Rating[]> {
  yield RATINGS.slice(0, 2)
  yield RATINGS.slice(2)
}

/** Lets the ratings pass, and says how many of them the training has. */
async function sharedOf(training: ConstructorParameters<typeof SharedPairs>[0]): Promise<number> {
  const pairs = new SharedPairs(training)
  const passed: Rating[] = []
  for await (const piece of pairs.counted(pieces())) passed.push(...piece)
  expect(passed).toEqual(RATINGS)
  expect(pairs.size).toBe(3)
  return pairs.shared
}

it('ratings that pass are counted where the training has their pair, whatever it was rated', async () => {
  const seen = new Map([
    ['a', new Set(['y', 'z'])],
    ['c', new Set(['x'])],
  ])
  expect(await sharedOf({ seen, read: [] })).toBe(1)
  expect(await sharedOf({ seen: undefined, read: [] })).toBe(0)
})

it('all are shared where they are the very ratings that a version was trained on', async () => {
  const digester = new ObservationsDigester()
  for (const { user, item, rating } of RATINGS.toReversed()) digester.addRating(user, item, rating)
  const { digest } = digester
  expect(await sharedOf({ seen: undefined, read: [undefined, digest] })).toBe(3)
  expect(await sharedOf({ seen: undefined, read: [{ ...digest, count: 4 }] })).toBe(0)
})

it('the warning says the share, and none is given for no shared pair', () => {
  const { io, err } = recordedIo()
  warnOfShared(0, 10, io)
  warnOfShared(1, 20_000, io)
  warnOfShared(5, 20, io)
  expect(err.map((line) => /^warning: .* are of/.exec(line)?.[0])).toEqual([
    'warning: 1 of the 20000 held-out ratings (below 0.1 %) are of',
    'warning: 5 of the 20 held-out ratings (25.0 %) are of',
  ])
})
