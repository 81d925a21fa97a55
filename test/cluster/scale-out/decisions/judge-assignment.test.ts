import { describe, expect, it } from 'vitest'
import { refusedAssignment } from '../../../../src/cluster/scale-out/decisions/assignment-data.ts'
import {
  identityChecksum,
  judgeAssignment,
} from '../../../../src/cluster/scale-out/decisions/judge-assignment.ts'
import { JOB } from './members.ts'

const REFUSED = refusedAssignment({ joinId: 5, epoch: 3 }, { reason: 'job', text: 'another job' })
const GIVEN = { ...REFUSED, refusal: undefined, identity: identityChecksum(JOB) }

describe('judgeAssignment', () => {
  it('takes what answers the JoinGroup of this process, a refusal too', () => {
    expect(judgeAssignment(GIVEN, { joinId: 5, job: JOB })).toBe('current')
    expect(judgeAssignment(REFUSED, { joinId: 5, job: JOB })).toBe('current')
  })

  it('takes what its name had before when it is the same job', () => {
    expect(judgeAssignment(GIVEN, { joinId: 6, job: JOB })).toBe('earlier')
  })

  it.each([
    { fingerprint: 'f'.repeat(32) },
    { storageId: 'f'.repeat(32) },
    { cluster: 'other' },
    { partitions: 7 },
    { maxParallelism: 256 },
  ])('takes nothing that its name had in another job: %o', (other) => {
    const job = { ...JOB, ...other }
    expect(judgeAssignment(GIVEN, { joinId: 6, job })).toBe('foreign')
  })

  it('is not refused for what its predecessor was', () => {
    expect(judgeAssignment(REFUSED, { joinId: 6, job: JOB })).toBe('foreign')
  })
})
