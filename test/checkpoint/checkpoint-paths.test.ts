import { describe, expect, it } from 'vitest'
import {
  checkpointFolder,
  classifyPath,
  compactedPath,
  epochPath,
  manifestPath,
  restoredPath,
  savepointFolder,
  segmentPath,
} from '../../src/checkpoint/checkpoint-paths.ts'

const JOB = 'c'.repeat(32)
const name = { jobId: JOB, generation: 2, attempt: 3, uid: 'a-b.c', subtask: 1, number: 9 }

describe('checkpoint paths', () => {
  it('are laid out as documented', () => {
    expect(segmentPath(name)).toBe(`${JOB}/shared/2-3-a-b.c-1-9`)
    expect(manifestPath(checkpointFolder(JOB, 7))).toBe(`${JOB}/chk-7/_metadata`)
    expect(savepointFolder('saved', JOB, '0123456789ab')).toBe(
      'saved/savepoint-cccccc-0123456789ab',
    )
    expect(savepointFolder('', JOB, '0123456789ab')).toBe('savepoint-cccccc-0123456789ab')
  })

  it('are recognized again', () => {
    const record = { generation: 2, attempt: 3, checkpointId: 5 }
    expect(classifyPath(JOB, epochPath(JOB, 4))).toEqual({ kind: 'epoch', generation: 4 })
    expect(classifyPath(JOB, restoredPath(JOB, record))).toEqual({ kind: 'restored', record })
    expect(classifyPath(JOB, manifestPath(checkpointFolder(JOB, 7)))).toEqual({
      kind: 'manifest',
      checkpointId: 7,
    })
    const segment = { kind: 'segment', generation: 2, attempt: 3 }
    expect(classifyPath(JOB, segmentPath(name))).toEqual(segment)
    expect(classifyPath(JOB, compactedPath(JOB, 2, 1))).toMatchObject({ generation: 2, attempt: 0 })
  })

  it('are not mistaken for those of other jobs or for anything else', () => {
    expect(classifyPath(JOB, epochPath('d'.repeat(32), 1))).toEqual({ kind: 'other' })
    expect(classifyPath(JOB, `${JOB}/chk-7/other`)).toEqual({ kind: 'other' })
    expect(classifyPath(JOB, `${JOB}/epoch-x`)).toEqual({ kind: 'other' })
  })
})
