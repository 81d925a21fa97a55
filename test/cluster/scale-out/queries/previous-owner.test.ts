import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import {
  findPrevious,
  markSettled,
} from '../../../../src/cluster/scale-out/queries/previous-owner.ts'
import { PROCESS_PLACE, processIdentity } from '../../../../src/files/running-process.ts'
import {
  encodeOwner,
  type JobOwner,
} from '../../../../src/runtime/checkpoint/protocol/job-owner.ts'
import { epochPath, releasedPath } from '../../../../src/runtime/checkpoint/storage/paths.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'

const JOB = '0123456789abcdef0123456789abcdef'
const NONE = new Uint8Array(0)

/** This process. */
const SELF: JobOwner = {
  ...{ jobName: 'job', sinceMs: 0 },
  ...processIdentity(process.pid),
  ...PROCESS_PLACE,
}
/** A process of this machine that has ended. */
const ENDED: JobOwner = {
  ...SELF,
  pid: spawnSync(process.execPath, ['--version']).pid,
  processStart: '1',
}
/** A process of another machine. */
const ELSEWHERE: JobOwner = { ...SELF, host: 'other', boot: 'other' }

/** A storage with the claims of these owners, in their order. */
async function claimedBy(...owners: JobOwner[]): Promise<MemoryCheckpointStorage> {
  const storage = new MemoryCheckpointStorage()
  for (const [n, owner] of owners.entries()) {
    await storage.createExclusive(epochPath(JOB, n + 1), encodeOwner(owner))
  }
  return storage
}

describe('the owner of a job partition before', () => {
  it('is none for the first claim', async () => {
    const found = await findPrevious(await claimedBy(SELF), JOB)
    expect(found).toEqual({
      generation: 1,
      previous: { before: { wasSettled: true, wasReleased: true }, refuses: false },
    })
  })

  it('is not looked for by a process that another one has fenced', async () => {
    expect(await findPrevious(await claimedBy(SELF, ELSEWHERE), JOB)).toBeUndefined()
    expect(await findPrevious(new MemoryCheckpointStorage(), JOB)).toBeUndefined()
  })

  it('is known to have ended on this machine only', async () => {
    const ended = await findPrevious(await claimedBy(ENDED, SELF), JOB)
    const elsewhere = await findPrevious(await claimedBy(ELSEWHERE, SELF), JOB)
    expect([ended?.previous.refuses, elsewhere?.previous.refuses]).toEqual([true, false])
  })

  it('says by files that it released the partition, and that it was settled', async () => {
    const storage = await claimedBy(ELSEWHERE, ELSEWHERE, SELF)
    const mark = async () => (await findPrevious(storage, JOB))?.previous.before
    await markSettled(storage, JOB, 1)
    await storage.createExclusive(releasedPath(JOB, 1), NONE)
    expect(await mark()).toEqual({ wasSettled: false, wasReleased: false })
    await storage.createExclusive(releasedPath(JOB, 2), NONE)
    expect(await mark()).toEqual({ wasSettled: false, wasReleased: true })
    await markSettled(storage, JOB, 2)
    expect(await mark()).toEqual({ wasSettled: true, wasReleased: true })
  })

  it('may live where its claim is gone', async () => {
    const storage = await claimedBy(ELSEWHERE, ENDED, SELF)
    await storage.delete(epochPath(JOB, 2))
    expect((await findPrevious(storage, JOB))?.previous).toEqual({
      before: { wasSettled: false, wasReleased: false },
      refuses: false,
    })
  })
})
