import { expect, it } from 'vitest'
import { VectorStoreKeys } from '../../../src/state/vector/store-keys.ts'

const prefix = Uint8Array.of(9, 8)

it('puts the prefix before keys of any length, each in its place', () => {
  const keys = new VectorStoreKeys(prefix, 4)
  const read = [Uint8Array.of(1, 2, 3), Uint8Array.of(), Uint8Array.of(4, 5, 6, 7)]
  const full = read.map((key, n) => keys.at(n, key))
  expect(full.map((key) => [...key])).toEqual([
    [9, 8, 1, 2, 3],
    [9, 8],
    [9, 8, 4, 5, 6, 7],
  ])
})

it('uses a place again for the next read', () => {
  const keys = new VectorStoreKeys(prefix, 4)
  const before = keys.at(0, Uint8Array.of(1, 2))
  expect([...keys.at(0, Uint8Array.of(3))]).toEqual([9, 8, 3])
  expect(keys.at(0, Uint8Array.of(4, 5))).toBe(before)
})

it('has keys for reads of any number of rows, and for keys longer than the limit', () => {
  const keys = new VectorStoreKeys(prefix, 4)
  const full = Array.from({ length: 1000 }, (_, n) => keys.at(n, Uint8Array.of(n, n >> 8)))
  expect(full.map((key) => [...key])).toEqual(full.map((_, n) => [9, 8, n & 255, n >> 8]))
  expect([...keys.at(0, new Uint8Array(6))]).toEqual([9, 8, 0, 0, 0, 0, 0, 0])
})
