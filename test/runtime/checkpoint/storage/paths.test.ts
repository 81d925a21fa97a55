import { describe, expect, it } from 'vitest'
import {
  checkpointFolder,
  classifyPath,
  compactedPath,
  completedPath,
  epochPath,
  manifestPath,
  restoredPath,
  savepointFolder,
  segmentPath,
} from '../../../../src/runtime/checkpoint/storage/paths.ts'

const JOB = 'c'.repeat(32)
const name = { jobId: JOB, generation: 2, attempt: 3, uid: 'a-b.c', subtask: 1, number: 9 }

describe('checkpoint paths', () => {
  it('are laid out as documented', () => {
    expect(segmentPath(name)).toBe(`${JOB}/shared/2-3-a-b.c-1-9`)
    expect(manifestPath(checkpointFolder(JOB, 7))).toBe(`${JOB}/chk-7/_metadata`)
    const record = { generation: 2, attempt: 3, checkpointId: 5 }
    expect(epochPath(JOB, 4)).toBe(`${JOB}/epoch-4`)
    expect(restoredPath(JOB, record)).toBe(`${JOB}/epoch-2-3-restored-5`)
    expect(completedPath(JOB, record)).toBe(`${JOB}/epoch-2-3-completed-5`)
    expect(savepointFolder('saved', JOB, '0123456789ab')).toBe(
      'saved/savepoint-cccccc-0123456789ab',
    )
    expect(savepointFolder('', JOB, '0123456789ab')).toBe('savepoint-cccccc-0123456789ab')
  })

  it('are recognized', () => {
    const record = { generation: 2, attempt: 3, checkpointId: 5 }
    expect(classifyPath(JOB, epochPath(JOB, 4))).toEqual({ kind: 'epoch', generation: 4 })
    expect(classifyPath(JOB, restoredPath(JOB, record))).toEqual({ kind: 'restored', record })
    expect(classifyPath(JOB, completedPath(JOB, record))).toEqual({ kind: 'completed', record })
    expect(classifyPath(JOB, manifestPath(checkpointFolder(JOB, 7)))).toEqual({
      kind: 'manifest',
      checkpointId: 7,
    })
    const segment = { kind: 'segment', generation: 2, attempt: 3 }
    expect(classifyPath(JOB, segmentPath(name))).toEqual(segment)
    expect(classifyPath(JOB, compactedPath(JOB, 2, 1))).toMatchObject({ generation: 2, attempt: 0 })
  })

  it('are not confused with those of other jobs or with other files', () => {
    expect(classifyPath(JOB, epochPath('d'.repeat(32), 1))).toEqual({ kind: 'other' })
    expect(classifyPath(JOB, `${JOB}/chk-7/other`)).toEqual({ kind: 'other' })
    expect(classifyPath(JOB, `${JOB}/epoch-x`)).toEqual({ kind: 'other' })
  })
})
