import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  JOB_MANAGER_TITLE,
  JobManagerLock,
  runningJobManager,
} from '../../../src/cluster/jobmanager/lock.ts'
import { nodeFileSystem } from '../../../src/files/node-file-system.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-lock-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

const SINCE = Date.UTC(2026, 10, 29)

describe('the lock of a JobManager', () => {
  it('is free when the process that it names is not a JobManager', () => {
    // The number of this process, which runs tests: a system gives numbers again.
    writeFileSync(join(folder, 'jobmanager.json'), JSON.stringify({ pid: process.pid, url: 'x' }))
    expect(runningJobManager(nodeFileSystem, folder)).toBeUndefined()
    using _lock = JobManagerLock.take(nodeFileSystem, folder, { pid: process.pid, sinceMs: 0 })
  })

  it('belongs to one of two that find a file that a crash has left', () => {
    writeFileSync(join(folder, 'jobmanager.json'), JSON.stringify({ pid: 2 ** 22, url: 'x' }))
    // The second one has seen the old file, and removes what is there after the first has taken the folder.
    const files = new Proxy(nodeFileSystem, {
      get(target, name) {
        if (name !== 'renameSync' || isTaken) return Reflect.get(target, name)
        return (from: string, to: string) => {
          if (!from.endsWith('jobmanager.json')) return target.renameSync(from, to)
          isTaken = true
          first = JobManagerLock.take(nodeFileSystem, folder, { pid: titled.pid!, sinceMs: SINCE })
          target.renameSync(from, to)
        }
      },
    })
    let isTaken = false
    let first: JobManagerLock | undefined
    const titled = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)', JOB_MANAGER_TITLE])
    try {
      expect(() => JobManagerLock.take(files, folder, { pid: process.pid, sinceMs: 0 })).toThrow(
        expect.objectContaining({
          code: 'ILLEGAL_STATE',
          message: `a JobManager (process ${titled.pid}, since 2026-11-29T00:00:00.000Z) runs in ${folder} already; stop it with "weir cluster stop", or give another --data-dir`,
        }),
      )
      expect(runningJobManager(nodeFileSystem, folder)?.pid).toBe(titled.pid)
    } finally {
      titled.kill('SIGKILL')
      first?.[Symbol.dispose]()
    }
  })

  it('is free after a crash left half a file', () => {
    writeFileSync(join(folder, 'jobmanager.json'), '{"pid":')
    expect(runningJobManager(nodeFileSystem, folder)).toBeUndefined()
  })
})
