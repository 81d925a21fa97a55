import { mkdtempSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { JobLogs } from '../../src/jobmanager/logs.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-logs-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

const write = (logs: JobLogs, text: string): void => {
  const log = logs.openLog('a')
  writeSync(log, text)
  logs.closeLog(log)
}

describe('the logs of a JobManager', () => {
  it('appends, and begins another file when one is full', async () => {
    const logs = new JobLogs(folder)
    write(logs, 'one\n')
    write(logs, 'two\n')
    expect(await logs.of('a').read('a.log')).toBe('one\ntwo\n')
    truncateSync(join(folder, 'a.log'), 65 * 2 ** 20)
    write(logs, 'three\n')
    expect(await logs.of('a').read('a.log')).toBe('three\n')
    expect((await logs.of('a').list()).map(({ name }) => name)).toEqual(['a.log', 'a.log.1'])
  })

  it('gives a reader the last megabyte', async () => {
    const logs = new JobLogs(folder)
    write(logs, `${'x'.repeat(2 ** 20)}end`)
    const text = await logs.of('a').read('a.log')
    expect([text.length, text.slice(-4)]).toEqual([2 ** 20, 'xend'])
  })

  it.each(['b.log', '../a.log', '', '..'])('refuses a file of another log: "%s"', async (name) => {
    const logs = new JobLogs(folder)
    write(logs, 'secret')
    await expect(logs.of('a').read(name)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
  })
})
