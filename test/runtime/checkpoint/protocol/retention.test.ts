import { describe, expect, it } from 'vitest'
import { decideRetention } from '../../../../src/runtime/checkpoint/protocol/retention.ts'
import { manifest, operator, segment } from './fixtures.ts'

const checkpoint = (id: number, ...paths: string[]) =>
  manifest(id, [operator({ segments: paths.map((path) => segment(path, id)) })])

const ids = (manifests: readonly { checkpointId: number }[]): number[] =>
  manifests.map((m) => m.checkpointId)

describe('decideRetention', () => {
  const completed = [checkpoint(1, 'a'), checkpoint(3, 'b', 'c'), checkpoint(2, 'a', 'b')]
  const trackedFiles = ['a', 'b', 'c']

  it('keeps the newest and subsumes the others, oldest first', () => {
    const decision = decideRetention({ completed, retained: 1, trackedFiles, pinned: new Set() })
    expect(ids(decision.kept)).toEqual([3])
    expect(ids(decision.subsumed)).toEqual([1, 2])
  })

  it('deletes only files that no kept checkpoint refers to', () => {
    const one = decideRetention({ completed, retained: 1, trackedFiles, pinned: new Set() })
    expect(one.unreferenced).toEqual(['a'])
    const two = decideRetention({ completed, retained: 2, trackedFiles, pinned: new Set() })
    expect(two.unreferenced).toEqual([])
  })

  it('keeps pinned files', () => {
    const decision = decideRetention({
      completed,
      retained: 1,
      trackedFiles,
      pinned: new Set(['a']),
    })
    expect(decision.unreferenced).toEqual([])
  })

  it('names tracked files only, and so no files of savepoints and running tasks', () => {
    const decision = decideRetention({
      completed,
      retained: 1,
      trackedFiles: [],
      pinned: new Set(),
    })
    expect(decision.unreferenced).toEqual([])
  })

  it('keeps at least one checkpoint', () => {
    const decision = decideRetention({ completed, retained: 0, trackedFiles, pinned: new Set() })
    expect(ids(decision.kept)).toEqual([3])
  })
})
