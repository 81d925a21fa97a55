import { expect, test } from 'vitest'
import { LargeBuffers } from '../../../src/core/lifetime/large-buffers.ts'

const KIB = 1024

test('a large buffer is used again for the next frame of its size', () => {
  const buffers = new LargeBuffers()
  const first = buffers.take(100 * KIB)
  expect(first.length).toBe(128 * KIB)
  buffers.give(first)
  expect(buffers.take(200 * KIB)).not.toBe(first)
  expect(buffers.take(70 * KIB)).toBe(first)
  expect(buffers.take(70 * KIB)).not.toBe(first)
})

test('small buffers and more than eight megabytes are not kept', () => {
  const buffers = new LargeBuffers()
  const small = buffers.take(3 * KIB)
  expect(small.length).toBe(3 * KIB)
  buffers.give(small)
  expect(buffers.take(3 * KIB)).not.toBe(small)
  const many = Array.from({ length: 10 }, () => buffers.take(KIB * KIB))
  for (const one of many) buffers.give(one)
  const again = Array.from({ length: 10 }, () => buffers.take(KIB * KIB))
  expect(again.filter((one) => many.includes(one))).toHaveLength(8)
})

test('the buffers that a waiting client grows through are used again by the next one', () => {
  const buffers = new LargeBuffers()
  const grow = (): Uint8Array<ArrayBuffer>[] => [4, 8, 16, 32, 60].map((n) => buffers.take(n * KIB))
  const first = grow()
  for (const one of first) buffers.give(one)
  expect(new Set(grow())).toEqual(new Set(first))
})
