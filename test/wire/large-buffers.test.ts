import { expect, test } from 'vitest'
import { LargeBuffers } from '../../src/wire/large-buffers.ts'

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
  const small = buffers.take(10 * KIB)
  expect(small.length).toBe(10 * KIB)
  buffers.give(small)
  expect(buffers.take(10 * KIB)).not.toBe(small)
  const many = Array.from({ length: 10 }, () => buffers.take(KIB * KIB))
  for (const one of many) buffers.give(one)
  const again = Array.from({ length: 10 }, () => buffers.take(KIB * KIB))
  expect(again.filter((one) => many.includes(one))).toHaveLength(8)
})
