import { describe, expect, it } from 'vitest'
import type { Claimant } from '../../../../src/runtime/checkpoint/coordinator/claimant.ts'
import { requireOwnerGone } from '../../../../src/runtime/checkpoint/coordinator/claimant.ts'
import type { JobOwner, OwnerState } from '../../../../src/runtime/checkpoint/protocol/job-owner.ts'
import { epochPath } from '../../../../src/runtime/checkpoint/storage/paths.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import { Bench, JOB } from './bench.ts'

/** A process that starts the job, for which all others are in a state. */
function claimant(pid: number, state: OwnerState, isTakeOver = false): Claimant {
  const owner: JobOwner = {
    jobName: 'bench',
    pid,
    processStart: '1',
    host: 'a',
    boot: 'b',
    pidNamespace: 'n',
    sinceMs: 0,
  }
  return { owner, stateOf: () => state, isTakeOver }
}

async function open(
  storage: MemoryCheckpointStorage,
  ...of: Parameters<typeof claimant>
): Promise<Bench> {
  return await new Bench(storage).open({ claimant: claimant(...of) })
}

describe('a second start of a job', () => {
  it('is refused while the first runs, and leaves it the job', async () => {
    const storage = new MemoryCheckpointStorage()
    const first = await open(storage, 1, 'ended')
    await expect(open(storage, 2, 'running')).rejects.toMatchObject({
      code: 'JOB_ALREADY_RUNNING',
      message: expect.stringMatching(
        /^job "bench" runs already: process 1 of host "a", since 1970-01-01T00:00:00.000Z, .*--take-over/,
      ),
    })
    await expect(
      requireOwnerGone({ storage, jobId: JOB }, claimant(2, 'running')),
    ).rejects.toMatchObject({ code: 'JOB_ALREADY_RUNNING' })
    await first.start()
    expect(first.coordinator.generation).toBe(1)
  })

  it('follows a dead one without a word', async () => {
    const storage = new MemoryCheckpointStorage()
    await open(storage, 1, 'ended')
    const second = await open(storage, 2, 'ended')
    expect(second.coordinator.generation).toBe(2)
    expect(second.errors).toEqual([])
  })

  it.each([
    ['running', true, 'which runs;'],
    ['stopped', false, 'which is stopped (SIGSTOP or Ctrl-Z);'],
    ['elsewhere', false, 'where this one cannot see whether it runs;'],
  ] as const)(
    'takes the job over from one that is %s, and says so (asked to: %s)',
    async (state, asked, text) => {
      const storage = new MemoryCheckpointStorage()
      const first = await open(storage, 1, 'ended')
      const second = await open(storage, 2, state, asked)
      expect(second.errors.map(({ message }) => message)).toEqual([expect.stringContaining(text)])
      await expect(first.start()).rejects.toMatchObject({ code: 'COORDINATOR_FENCED' })
    },
  )

  it('gets the job when the first has ended its run, though its process lives on', async () => {
    const storage = new MemoryCheckpointStorage()
    const first = await open(storage, 1, 'ended')
    await first.coordinator.close()
    await first.coordinator.release()
    const second = await open(storage, 2, 'running')
    expect(second.errors).toEqual([])
    // What is given up belongs to one claim: the second one has not ended.
    await expect(open(storage, 3, 'running')).rejects.toMatchObject({ code: 'JOB_ALREADY_RUNNING' })
    for (const pid of [4, 5]) await (await open(storage, pid, 'ended')).start()
    const left = (await storage.list(JOB)).filter(({ path }) => path.endsWith('-released'))
    expect(left).toEqual([])
  })

  it('at the same moment gets the job only once', async () => {
    const storage = new MemoryCheckpointStorage()
    const both = await Promise.allSettled([
      open(storage, 1, 'running'),
      open(storage, 2, 'running'),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('of the same process follows it, as a restart in one process does', async () => {
    const storage = new MemoryCheckpointStorage()
    await open(storage, 1, 'running')
    expect((await open(storage, 1, 'running')).coordinator.generation).toBe(2)
  })

  it('follows a claim of an earlier release, which names nobody', async () => {
    const storage = new MemoryCheckpointStorage()
    await storage.createExclusive(epochPath(JOB, 1), new Uint8Array(0))
    expect((await open(storage, 2, 'running')).coordinator.generation).toBe(2)
  })
})
