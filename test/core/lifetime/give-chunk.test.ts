import { expect, it } from 'vitest'
import { giveChunk } from '../../../src/core/lifetime/give-chunk.ts'

it('a chunk with a buffer of its own has none after it is given back', () => {
  const own = Buffer.alloc(65_536, 7)
  giveChunk(own)
  expect(own).toHaveLength(0)
})

it('a part of a larger buffer stays, and so does a small chunk', () => {
  const large = Buffer.alloc(65_536, 7)
  giveChunk(large.subarray(0, 60_000))
  expect(large).toHaveLength(65_536)
  const small = new Uint8Array(100)
  giveChunk(small)
  expect(small).toHaveLength(100)
})
