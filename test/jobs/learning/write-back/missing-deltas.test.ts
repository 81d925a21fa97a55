import { describe, expect, it } from 'vitest'
import { requireDeltas } from '../../../../src/jobs/learning/write-back/missing-deltas.ts'
import type { LearnedPart } from '../../../../src/models/registry/learned-part.ts'

const learned: LearnedPart = {
  ...{ atMs: 100, observations: 'ratings', next: [10], folded: 'AQMA' },
  deltas: [40, -1],
}
const facts = { version: 3, learned, others: [], topic: 'als-model-deltas', starts: [40, 7] }

describe('the deltas that written rows do not include', () => {
  it('are there when the topic begins where the rows end, or before', () => {
    requireDeltas(facts)
    requireDeltas({ ...facts, starts: [0, 0] })
    requireDeltas({ ...facts, starts: [] })
  })

  it('are missing when the topic begins later: the error names them and what to do', () => {
    const start = () => requireDeltas({ ...facts, starts: [41, 7] })
    expect(start).toThrow(expect.objectContaining({ code: 'OFFSET_OUT_OF_RANGE' }))
    expect(start).toThrow(
      /version 3.*partition 0 of "als-model-deltas" up to offset 40.*begins at 41/,
    )
    expect(start).toThrow(/checkpoints of the one before, or publish a new version/)
  })

  it('are of other versions when another one was written back later', () => {
    const other = { ...learned, atMs: 101 }
    requireDeltas({ ...facts, others: [other], starts: [41, 7] })
    const earlier = { ...learned, atMs: 99 }
    expect(() => requireDeltas({ ...facts, others: [earlier], starts: [41, 7] })).toThrow()
  })

  it('are not known of rows that were never written back, or by an earlier build', () => {
    requireDeltas({ ...facts, learned: undefined, starts: [41, 7] })
    const { deltas: _, ...before } = learned
    requireDeltas({ ...facts, learned: before, starts: [41, 7] })
  })
})
