import { describe, expect, it } from 'vitest'
import { type LearnedFacts, learnedGap } from '../../../src/jobs/retrain/learned-gap.ts'
import type { DataRange } from '../../../src/models/registry/ranges/data-range.ts'
import { registeredVersion } from '../../models/registry/registered-version.ts'

const TRAINED: DataRange = { topic: 'ratings', topicId: 'a', partition: 0, from: 0, to: 100 }
const REPLAYED: DataRange = { ...TRAINED, from: 100, to: 120 }

/** Of a version that was trained up to offset 100, replayed up to 120, and is learned from a topic that begins at `start`. */
function gapFrom(start: number, facts: Partial<LearnedFacts> = {}): string | undefined {
  const version = registeredVersion(3)
  const lineage = { ...version.lineage, ranges: [TRAINED], replayed: [REPLAYED] }
  return learnedGap({
    learning: { learnsFrom: 'ratings', learnsFromId: 'a' },
    live: { ...version, lineage },
    present: { topic: 'ratings', id: 'a' },
    bounds: [{ partition: 0, start, end: 500 }],
    ...facts,
  })
}

describe('what a job has learned and a training would not see', () => {
  it('is what the topic has removed since the training, and not what that has read', () => {
    expect([gapFrom(0), gapFrom(120)]).toEqual([undefined, undefined])
    expect(gapFrom(150)).toBe(
      'topic ratings has removed 30 records that came after the training of version 3, and that a job may have learned',
    )
  })

  it('is summed up over the partitions that the training has read', () => {
    const bounds = [
      { partition: 0, start: 130, end: 500 },
      { partition: 1, start: 40, end: 500 },
    ]
    expect(gapFrom(0, { bounds })).toContain('has removed 10 records')
  })

  it('is all of a topic that was created again', () => {
    expect(gapFrom(0, { present: { topic: 'ratings', id: 'b' } })).toBe(
      'topic ratings was created again since a job learned version 3 from it',
    )
  })

  it('is nothing where no job learns the model, or one learns it from a topic of another name', () => {
    expect(gapFrom(150, { learning: {} })).toBeUndefined()
    expect(gapFrom(150, { learning: { learnsFrom: 'others', learnsFromId: 'c' } })).toBeUndefined()
  })

  it('is not known of a version that was trained elsewhere', () => {
    const version = registeredVersion(3)
    const lineage = { ...version.lineage, ranges: [{ ...TRAINED, topicId: 'z' }] }
    expect(gapFrom(150, { live: { ...version, lineage } })).toBeUndefined()
  })
})
