import { mkdtempSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { JobLogs } from '../../../src/cluster/jobmanager/logs.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { until } from '../../run/until.ts'

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
  it('appends, and keeps the newest files of a fixed size, also of a log that a process has open', async () => {
    const logs = new JobLogs(folder)
    write(logs, 'one\n')
    write(logs, 'two\n')
    expect(await logs.of('a').read('a.log')).toBe('one\ntwo\n')
    const log = logs.openLog('a')
    await logs.shorten()
    expect(await logs.of('a').list()).toHaveLength(1)
    for (const round of ['first', 'second', 'third', 'fourth', 'fifth', 'sixth']) {
      truncateSync(join(folder, 'a.log'), 16 * 2 ** 20)
      writeSync(log, `${round} is full\n`)
      await logs.shorten()
    }
    writeSync(log, 'now\n')
    logs.closeLog(log)
    const files = await logs.of('a').list()
    expect(files.map(({ name }) => name)).toEqual([
      'a.log',
      ...[1, 2, 3, 4].map((number) => `a.log.${number}`),
    ])
    expect(await logs.of('a').read('a.log')).toBe('now\n')
    const ends = [1, 2, 3, 4].map(async (n) => (await logs.of('a').read(`a.log.${n}`)).slice(-16))
    expect((await Promise.all(ends)).map((end) => end.trimStart().replaceAll('\0', ''))).toEqual([
      ...['sixth is full\n', 'fifth is full\n', 'fourth is full\n', 'third is full\n'],
    ])
  })

  it('looks at the sizes while a JobManager runs, and not after it', async () => {
    const logs = new JobLogs(folder)
    write(logs, 'one\n')
    truncateSync(join(folder, 'a.log'), 16 * 2 ** 20)
    const clock = new ManualClock()
    const stop = logs.keepWithinSize(clock)
    clock.advance(1_000)
    await until('the log is shortened', async () => (await logs.of('a').list()).length === 2)
    stop()
    truncateSync(join(folder, 'a.log'), 16 * 2 ** 20)
    clock.advance(10_000)
    expect(await logs.of('a').list()).toHaveLength(2)
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
