import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { foregroundCheckpoint } from '../../../src/jobs/serve/foreground-checkpoint.ts'
import { jobIdOf } from '../../../src/jobs/serve/job-id.ts'

const SUBMISSION = 'a'.repeat(32)

function folderWith(...checkpoints: readonly (readonly [string, number])[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-foreground-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [job, id] of checkpoints) {
    mkdirSync(join(folder, job, `chk-${id}`), { recursive: true })
    writeFileSync(join(folder, job, `chk-${id}`, '_metadata'), '')
  }
  return folder
}

const foundIn = (checkpoints: string) =>
  foregroundCheckpoint({ checkpoints, name: 'visits', jobId: SUBMISSION })

it('the newest checkpoint of the foreground is named where a submission begins from nothing', async () => {
  const own = jobIdOf('visits')
  expect(await foundIn(folderWith([own, 9], [own, 12], [own, 10]))).toBe(`${own}/chk-12`)
  expect(await foundIn(folderWith([own, 9], [SUBMISSION, 1]))).toBeUndefined()
  expect(await foundIn(folderWith([jobIdOf('other'), 9]))).toBeUndefined()
  expect(await foundIn(folderWith())).toBeUndefined()
})
