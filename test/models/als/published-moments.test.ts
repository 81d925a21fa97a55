import { describe, expect, it } from 'vitest'
import { PublishedMoments, publishedMoments } from '../../../src/models/als/published-moments.ts'
import { RowMoments } from '../../../src/models/als/row-moments.ts'
import type { ModelVersionMarker } from '../../../src/models/registry/version-marker.ts'
import { decodeMarker, encodeMarker } from '../../../src/models/registry/version-marker.ts'

function marker(dimension: number): ModelVersionMarker {
  const moments = new PublishedMoments(dimension)
  const row = (value: number): Float32Array => new Float32Array(dimension).fill(value)
  for (const value of [1, 2, 6]) moments.add('U', row(value))
  moments.add('I', row(0.5))
  return {
    event: 'ready',
    version: 1,
    name: 'ALS_MODEL',
    dimension,
    biased: false,
    users: 3,
    items: 1,
    globalMean: 0,
    hyperparameters: {},
    metrics: {},
    ...moments.encode(),
  }
}

describe('published moments', () => {
  it('are read from a marker exactly as they were written', () => {
    const read = publishedMoments(decodeMarker(encodeMarker(marker(4))))!
    const user = RowMoments.decode(read.user)
    expect(user.count).toBe(3)
    expect([...user.mean()]).toEqual([3, 3, 3, 3])
    expect([...user.secondMoments([0, 1])]).toEqual([41 / 3, 41 / 3, 41 / 3])
    expect([...RowMoments.decode(read.item).mean()]).toEqual([0.5, 0.5, 0.5, 0.5])
  })

  it('of long rows are the means alone, so that the marker stays short', () => {
    const read = publishedMoments(marker(200))!
    expect(RowMoments.decode(read.user).hasProducts).toBe(false)
    expect(RowMoments.decode(read.user).mean()[199]).toBe(3)
    expect(encodeMarker(marker(200)).length).toBeLessThan(8192)
  })

  it('are none where the marker has none, or those of rows of another length', () => {
    const { rowMoments, ...without } = marker(4)
    expect(publishedMoments(without)).toBeUndefined()
    expect(publishedMoments({ ...without, dimension: 5, rowMoments: rowMoments! })).toBeUndefined()
  })

  it('of another type make a marker unreadable', () => {
    const bytes = new TextEncoder().encode(JSON.stringify({ ...marker(4), rowMoments: 3 }))
    expect(() => decodeMarker(bytes)).toThrow(/rowMoments/)
  })
})
