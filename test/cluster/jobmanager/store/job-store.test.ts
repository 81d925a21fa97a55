import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { JobStore } from '../../../../src/cluster/jobmanager/store/job-store.ts'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { jobRecord } from './record.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-jobs-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

const idOf = (n: number): string => n.toString(16).padStart(32, '0')

describe('the job store', () => {
  it('finds its jobs again, oldest first', async () => {
    const store = new JobStore(nodeFileSystem, join(folder, 'jobs'))
    await store.open()
    store.put(jobRecord({ id: idOf(1), submittedMs: 20 }))
    store.put(jobRecord({ id: idOf(2), submittedMs: 10 }))
    store.put(jobRecord({ id: idOf(1), submittedMs: 20, pid: 99 }))
    const { records } = await new JobStore(nodeFileSystem, join(folder, 'jobs')).open()
    expect(records.map(({ id, pid }) => [id, pid])).toEqual([
      [idOf(2), 17],
      [idOf(1), 99],
    ])
  })

  it('reports a damaged file and goes on with the others', async () => {
    const store = new JobStore(nodeFileSystem, folder)
    store.put(jobRecord({ id: idOf(1) }))
    writeFileSync(join(folder, `${idOf(2)}.job`), 'weir-job 1 0000')
    writeFileSync(join(folder, 'note.txt'), 'not a job')
    const { records, damaged } = await new JobStore(nodeFileSystem, folder).open()
    expect(records).toHaveLength(1)
    expect(damaged.map(({ code }) => code)).toEqual(['MALFORMED_DATA'])
  })

  it('keeps the last hundred jobs that have ended, and every other one', async () => {
    const store = new JobStore(nodeFileSystem, folder)
    store.put(jobRecord({ id: idOf(999) }))
    for (let n = 0; n < 103; n++) store.put(jobRecord({ id: idOf(n), hasEnded: true }))
    expect(await store.dropOld()).toEqual([idOf(0), idOf(1), idOf(2)])
    expect(readdirSync(folder)).toHaveLength(101)
    expect(await store.dropOld()).toEqual([])
  })
})
