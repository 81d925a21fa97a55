import { describe, expect, it } from 'vitest'
import { decideRetention } from '../../../src/checkpoint/protocol/retention.ts'
import { manifest, operator, segment } from './protocol-fixtures.ts'

const checkpoint = (id: number, ...paths: string[]) =>
  manifest(id, [operator({ segments: paths.map((path) => segment(path, id)) })])

const ids = (manifests: readonly { checkpointId: number }[]): number[] =>
  manifests.map((m) => m.checkpointId)

describe('decideRetention', () => {
  const completed = [checkpoint(1, 'a'), checkpoint(3, 'b', 'c'), checkpoint(2, 'a', 'b')]
  const knownFiles = ['a', 'b', 'c']

  it('keeps the newest and subsumes the others, oldest first', () => {
    const decision = decideRetention({ completed, retained: 1, knownFiles, pinned: new Set() })
    expect(ids(decision.kept)).toEqual([3])
    expect(ids(decision.subsumed)).toEqual([1, 2])
  })

  it('deletes only files that no kept checkpoint refers to', () => {
    const one = decideRetention({ completed, retained: 1, knownFiles, pinned: new Set() })
    expect(one.unreferenced).toEqual(['a'])
    const two = decideRetention({ completed, retained: 2, knownFiles, pinned: new Set() })
    expect(two.unreferenced).toEqual([])
  })

  it('keeps pinned files', () => {
    const decision = decideRetention({ completed, retained: 1, knownFiles, pinned: new Set(['a']) })
    expect(decision.unreferenced).toEqual([])
  })

  it('never names files that it was not told of, such as those of savepoints and running tasks', () => {
    const decision = decideRetention({ completed, retained: 1, knownFiles: [], pinned: new Set() })
    expect(decision.unreferenced).toEqual([])
  })

  it('keeps at least one checkpoint', () => {
    const decision = decideRetention({ completed, retained: 0, knownFiles, pinned: new Set() })
    expect(ids(decision.kept)).toEqual([3])
  })
})
