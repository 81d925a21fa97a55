import { expect, it } from 'vitest'
import { SharedPlaces } from '../../../src/core/lifetime/shared-places.ts'

it('one client has at most half of the places, and others have what is left', () => {
  const places = new SharedPlaces(5)
  const take = (client: string | undefined, times: number) =>
    Array.from({ length: times }, () => places.take(client))
  expect(take('a', 4)).toEqual([undefined, undefined, undefined, 'share'])
  expect(take('b', 3)).toEqual([undefined, undefined, 'all'])
  expect(places.taken).toBe(5)
  places.give('b')
  expect(take('a', 1)).toEqual(['share'])
  places.give('a')
  expect(take('a', 1)).toEqual([undefined])
})

it('a client without a name may have all, and takes none of the share of others', () => {
  const places = new SharedPlaces(2)
  const taken = [places.take(undefined), places.take(undefined), places.take(undefined)]
  expect(taken).toEqual([undefined, undefined, 'all'])
  places.give(undefined)
  expect(places.take('a')).toBeUndefined()
  places.give('a')
  places.give(undefined)
  expect(places.taken).toBe(0)
  expect([places.take('a'), places.take('a')]).toEqual([undefined, 'share'])
})
