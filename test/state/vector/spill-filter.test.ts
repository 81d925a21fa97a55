import { expect, test } from 'vitest'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { SpillFilter } from '../../../src/state/vector/spill-filter.ts'

const hashOf = (i: number): number => murmur3(Buffer.from(`key-${i}`)) | 0

test('never denies a key that was added', () => {
  const filter = new SpillFilter()
  for (let i = 0; i < 50_000; i++) filter.add(hashOf(i))
  let denied = 0
  for (let i = 0; i < 50_000; i++) if (!filter.mayHave(hashOf(i))) denied++
  expect(denied).toBe(0)
})

test('denies nearly all others, however many were added', () => {
  const filter = new SpillFilter()
  for (let i = 0; i < 100_000; i++) filter.add(hashOf(i))
  let wrong = 0
  for (let i = 0; i < 20_000; i++) if (filter.mayHave(hashOf(1_000_000 + i))) wrong++
  expect(wrong / 20_000).toBeLessThan(0.05)
  expect(filter.bytes).toBeLessThan(100_000 * 4)
})
