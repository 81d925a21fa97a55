import { describe, expect, it } from 'vitest'
import {
  isValidManifest,
  lostManifests,
} from '../../../../src/runtime/checkpoint/protocol/valid-checkpoints.ts'

const of = (generation: number, attempt: number, checkpointId: number) => ({
  generation,
  attempt,
  checkpointId,
})

describe('isValidManifest', () => {
  it('accepts a checkpoint that every later attempt restored', () => {
    expect(isValidManifest(of(1, 1, 5), [of(1, 1, 0), of(1, 2, 5), of(2, 1, 6)])).toBe(true)
  })

  it('refuses one if a newer generation restored an older checkpoint', () => {
    expect(isValidManifest(of(1, 1, 6), [of(2, 1, 5)])).toBe(false)
  })

  it('refuses one if a newer attempt of the same coordinator restored an older checkpoint', () => {
    expect(isValidManifest(of(2, 1, 6), [of(2, 2, 5)])).toBe(false)
  })

  it('accepts one that is newer than the checkpoint that its own attempt restored', () => {
    expect(isValidManifest(of(2, 2, 6), [of(2, 2, 5), of(2, 1, 3), of(1, 7, 1)])).toBe(true)
  })
})

describe('lostManifests', () => {
  const lost = (completions: readonly number[], counting: ReturnType<typeof of>[]) =>
    lostManifests({
      completions: completions.map((id) => of(1, 1, id)),
      stored: new Set(counting.map(({ checkpointId }) => checkpointId)),
      counting,
    }).map(({ checkpointId }) => checkpointId)

  it('finds a completed checkpoint without a manifest: the only, newest, middle and oldest one', () => {
    expect(lost([1], [])).toEqual([1])
    expect(lost([3, 2, 1], [of(1, 1, 1), of(1, 1, 2)])).toEqual([3])
    expect(lost([3, 2, 1], [of(1, 1, 1), of(1, 1, 3)])).toEqual([2])
    expect(lost([3, 2, 1], [of(1, 1, 2), of(2, 1, 3)])).toEqual([1])
  })

  it('finds nothing if every record has its manifest, or a manifest has no record yet', () => {
    expect(lost([1], [of(1, 1, 1), of(1, 1, 2)])).toEqual([])
    expect(lost([], [of(1, 1, 1)])).toEqual([])
  })

  it('passes over a record when all checkpoints that count are of later generations', () => {
    expect(lost([1, 2], [of(2, 1, 3), of(3, 1, 4)])).toEqual([])
  })
})
