import { expect, test } from 'vitest'
import { giveBuffer, takeBuffer } from '../../../src/gateway/hot/batch-buffers.ts'

test('a buffer comes back by a view of a part of it, and is taken again', () => {
  const buffer = takeBuffer(18_000)
  expect(takeBuffer(18_000)).not.toBe(buffer)
  giveBuffer(buffer.subarray(200, 300))
  const again = takeBuffer(20_000)
  expect(again.buffer).toBe(buffer.buffer)
  expect(again).toHaveLength(32_768)
})
