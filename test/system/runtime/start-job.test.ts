import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { startJob } from '../../../src/jobs/start-job.ts'
import type { CountJobOptions } from '../../fixtures/count-job.ts'

const COUNT_JOB = new URL('../../fixtures/count-job.ts', import.meta.url)

describe('startJob', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-start-job-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const jobOptions: CountJobOptions = {
    file: join(folder, 'counts'),
    partitions: 2,
    countPerPartition: 500,
    keys: 10,
    ratePerSecond: 100_000,
  }

  it('runs a module on slots to its end, without a port', async () => {
    const job = await startJob(COUNT_JOB, {
      jobOptions,
      configuration: { 'state.backend.type': 'heap', 'parallelism.default': '2' },
    })
    expect((await job.result).jobName).toBe('count')
    expect(job.plan.slots).toBe(2)
    const lines = [0, 1].flatMap((slot) =>
      readFileSync(`${jobOptions.file}-${slot}`, 'utf8').trimEnd().split('\n'),
    )
    expect(lines).toHaveLength(1000)
  })

  it('says what is wrong with its configuration', async () => {
    const configuration = { 'parallelism.defualt': '2' }
    await expect(startJob(COUNT_JOB, { jobOptions, configuration })).rejects.toMatchObject({
      code: 'UNKNOWN_OPTION',
    })
  })
})
