import { describe, expect, it } from 'vitest'
import type { ModelVersionMarker } from '../../../src/models/registry/version-marker.ts'
import { versionReadiness } from '../../../src/models/registry/version-readiness.ts'

const marker: ModelVersionMarker = {
  event: 'ready',
  version: 1,
  name: 'ALS_MODEL',
  dimension: 2,
  biased: false,
  users: 1,
  items: 1,
  globalMean: 3,
  hyperparameters: {},
  metrics: {},
}
const at = (partition: number, offset: number) => ({ partition, offset, marker })

describe('versionReadiness', () => {
  it('is incomplete while a partition has not shown its marker', () => {
    const facts = { partitions: 3, slots: 1, applied: () => 100 }
    expect(versionReadiness([at(0, 5), at(2, 5)], facts)).toEqual({
      kind: 'incomplete',
      missingPartitions: 1,
    })
  })

  it('expects the markers of the partitions that the topic had when the version was published', () => {
    const grown = { partitions: 2, slots: 1, applied: () => 100 }
    const of = (partition: number, partitions: number) => ({
      ...at(partition, 5),
      marker: { ...marker, partitions },
    })
    expect(versionReadiness([of(0, 3), of(2, 3)], grown)).toEqual({
      kind: 'incomplete',
      missingPartitions: 1,
    })
    expect(versionReadiness([of(0, 1)], grown)).toEqual({ kind: 'ready' })
  })

  it('is loading while one slot has not passed a marker', () => {
    const applied = (slot: number) => (slot === 1 ? 5 : 6)
    const facts = { partitions: 1, slots: 2, applied }
    expect(versionReadiness([at(0, 5)], facts)).toEqual({ kind: 'loading' })
  })

  it('is ready once every slot is past every marker', () => {
    const facts = { partitions: 2, slots: 2, applied: () => 6 }
    expect(versionReadiness([at(0, 5), at(1, 3)], facts)).toEqual({ kind: 'ready' })
  })
})
