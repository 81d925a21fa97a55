import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { createWorkerJob } from '../../../src/runtime/job/worker-job.ts'
import { SlotThreads } from '../../../src/runtime/slot/threads.ts'
import type { CountJobOptions } from '../../fixtures/count-job.ts'

const COUNT_JOB = new URL('../../fixtures/count-job.ts', import.meta.url)

describe('slot threads that start before their job', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'weir-threads-'))
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  async function runCountJob(threads: SlotThreads): Promise<void> {
    const jobOptions: CountJobOptions = {
      file: join(folder, 'counts'),
      partitions: 2,
      countPerPartition: 100,
      keys: 10,
    }
    const job = await createWorkerJob<CountJobOptions>({
      module: COUNT_JOB,
      jobOptions,
      configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
      random: seededRandom(1),
      threads,
    })
    job.start()
    expect([0, 1].map((slot) => threads.take(slot))).toEqual([undefined, undefined])
    await job.result
  }

  it('run the slots of the job', async () => {
    await runCountJob(new SlotThreads(COUNT_JOB, 2))
  })

  it('end when the job has no slot for them', async () => {
    const threads = new SlotThreads(COUNT_JOB, 3)
    await runCountJob(threads)
    await threads.close()
    expect(threads.take(2)).toBeUndefined()
  })
})
