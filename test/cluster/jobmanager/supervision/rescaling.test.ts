import { describe, expect, it } from 'vitest'
import {
  requireRescalable,
  withParallelism,
} from '../../../../src/cluster/jobmanager/supervision/rescaling.ts'
import type { JobSnapshot } from '../../../../src/cluster/rest/port/job-snapshot.ts'
import { COUNT, SOURCE, snapshot } from '../../rest/snapshot.ts'

const refusalOf = (parallelism: number, changes: Partial<JobSnapshot> = {}): unknown => {
  try {
    requireRescalable(snapshot(changes), parallelism)
    return undefined
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return `${code}: ${message}`
  }
}

const fixed = { hasOwnParallelism: true } as const

describe('a job can be rescaled', () => {
  it('up to the max parallelism of the operators that follow the job', () => {
    const vertices = [{ ...SOURCE, ...fixed, maxParallelism: 2 }, COUNT]
    expect(refusalOf(128, { vertices })).toBeUndefined()
    expect(refusalOf(129, { vertices })).toMatch(/^INVALID_ARGUMENT: "Count" .* 128, .* be 129/)
  })

  it.each([0, -1, 1.5])('not to %d', (parallelism) => {
    expect(refusalOf(parallelism)).toMatch(/^INVALID_ARGUMENT: .*from 1, not/)
  })

  it('only while it runs', () => {
    expect(refusalOf(3, { status: 'RESTARTING' })).toMatch(/^ILLEGAL_STATE: .*is RESTARTING/)
  })

  it('only if it takes checkpoints: it would begin from nothing', () => {
    expect(refusalOf(3, { checkpoints: undefined })).toMatch(/^ILLEGAL_STATE: .*checkpointing.dir/)
  })

  it('not if its code fixes the parallelism of every operator', () => {
    const vertices = [SOURCE, COUNT].map((vertex) => ({ ...vertex, ...fixed }))
    expect(refusalOf(3, { vertices })).toMatch(/^ILLEGAL_STATE: .*setParallelism/)
  })
})

describe('the submission of a rescaled job', () => {
  it('has other slots, and no configuration value that overrides them', () => {
    const submission = {
      job: 'x',
      options: {
        slots: '2',
        topic: 't',
        set: ['parallelism.default=2', 'a=parallelism.default=2'],
      },
    }
    expect(withParallelism(submission, 5)).toEqual({
      job: 'x',
      options: { slots: '5', topic: 't', set: ['a=parallelism.default=2'] },
    })
    expect(withParallelism({ job: 'x', options: {} }, 1).options).toMatchObject({ slots: '1' })
  })
})
