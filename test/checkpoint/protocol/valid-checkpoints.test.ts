import { describe, expect, it } from 'vitest'
import { isValidManifest } from '../../../src/checkpoint/protocol/valid-checkpoints.ts'

const of = (generation: number, attempt: number, checkpointId: number) => ({
  generation,
  attempt,
  checkpointId,
})

describe('isValidManifest', () => {
  it('takes a checkpoint that everybody after went on from', () => {
    expect(isValidManifest(of(1, 1, 5), [of(1, 1, 0), of(1, 2, 5), of(2, 1, 6)])).toBe(true)
  })

  it('refuses one that a newer generation has passed over', () => {
    expect(isValidManifest(of(1, 1, 6), [of(2, 1, 5)])).toBe(false)
  })

  it('refuses one that a newer attempt of the same coordinator has passed over', () => {
    expect(isValidManifest(of(2, 1, 6), [of(2, 2, 5)])).toBe(false)
  })

  it('takes one that is newer than what its own attempt went on from', () => {
    expect(isValidManifest(of(2, 2, 6), [of(2, 2, 5), of(2, 1, 3), of(1, 7, 1)])).toBe(true)
  })
})
