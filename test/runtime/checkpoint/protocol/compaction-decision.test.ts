import { describe, expect, it } from 'vitest'
import type { SegmentReference } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import {
  DEFAULT_COMPACTION_POLICY,
  decideCompaction,
} from '../../../../src/runtime/checkpoint/protocol/compaction-decision.ts'
import { operator, segment, shown } from './fixtures.ts'

const policy = { ...DEFAULT_COMPACTION_POLICY, maxChainLength: 4 }

const sized = (...sizes: number[]): SegmentReference[] =>
  sizes.map((bytes, i) => segment(`s${i}`, i + 1, { bytes }))

describe('decideCompaction', () => {
  it('does not merge a short chain', () => {
    const decision = decideCompaction(operator({ segments: sized(9, 9, 9, 9) }), policy)
    expect(decision).toEqual({ kind: 'none' })
  })

  it('merges everything when the younger segments are as large as the oldest', () => {
    const decision = decideCompaction(operator({ segments: sized(100, 30, 30, 30, 30) }), policy)
    expect(decision).toMatchObject({ kind: 'merge', full: true })
    if (decision.kind === 'merge') expect(decision.inputs.length).toBe(5)
  })

  it('merges the run of younger segments of similar size', () => {
    const segments = sized(10_000, 500, 11, 10, 9, 8)
    const decision = decideCompaction(operator({ segments }), policy)
    expect(decision).toMatchObject({ kind: 'merge', full: false })
    if (decision.kind === 'merge') {
      expect(decision.inputs.map((s) => s.path)).toEqual(['s2', 's3', 's4', 's5'])
    }
  })

  it('merges as many as bring the chain to its limit if no two sizes are similar', () => {
    const segments = sized(1_000_000, 10_000, 1000, 100, 10, 1)
    const decision = decideCompaction(operator({ segments }), policy)
    if (decision.kind !== 'merge') throw new Error('no merge')
    expect(decision.inputs.map((s) => s.path)).toEqual(['s3', 's4', 's5'])
  })

  it('looks at the key groups of each subtask and takes whole references of the manifest', () => {
    const segments = [
      segment('wide', 1, { bytes: 10_000 }),
      ...[2, 3, 4, 5].map((id) => segment(`s${id}`, id, { keyGroups: { first: 64, last: 127 } })),
    ]
    const decision = decideCompaction(operator({ parallelism: 2, segments }), policy)
    if (decision.kind !== 'merge') throw new Error('no merge')
    expect(decision.keyGroups).toEqual({ first: 64, last: 127 })
    expect(shown(decision.inputs)).toBe('s2[64-127] s3[64-127] s4[64-127] s5[64-127]')
  })

  it('reads an entry a few times in the ten hours in which state grows with a checkpoint each second', () => {
    const checkpoints = 36_000
    let segments = sized(1)
    let read = 0
    for (let id = 2; id <= checkpoints; id++) {
      segments = [...segments, segment(`s${id}`, id, { bytes: 1 })]
      const decision = decideCompaction(operator({ segments }), DEFAULT_COMPACTION_POLICY)
      if (decision.kind === 'none') continue
      const bytes = decision.inputs.reduce((sum, input) => sum + input.bytes, 0)
      read += bytes
      const kept = segments.slice(0, segments.length - decision.inputs.length)
      segments = [...kept, segment(`m${id}`, id, { bytes })]
    }
    expect(read / checkpoints).toBeLessThan(10)
  })
})
