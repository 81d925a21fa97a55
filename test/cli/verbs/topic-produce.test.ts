import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { keyOfLine } from '../../../src/cli/verbs/topic-produce.ts'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { recordedIo } from '../recorded-io.ts'

let root: string
let fresh: string

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'weir-produce-'))
  fresh = join(root, 'fresh')
  mkdirSync(fresh)
  const log = await EmbeddedLog.open(join(root, 'log'))
  await log.createTopic('observations', { partitions: 1 })
  await log.close()
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Runs `weir topic produce observations --ratings` on the folder. */
function produce(...flags: string[]) {
  const interrupted = Promise.withResolvers<void>()
  const { io, out, err } = recordedIo({ interrupted: interrupted.promise })
  const ended = runCommandLine(
    ['topic', 'produce', 'observations', '--ratings', fresh, '--data-dir', root, ...flags],
    io,
  )
  return { out, err, ended, interrupt: () => interrupted.resolve() }
}

async function records(): Promise<readonly string[]> {
  const { io, out } = recordedIo()
  await runCommandLine(['topic', 'consume', 'observations', '--data-dir', root, '--json'], io)
  return out.map((line) => (JSON.parse(line) as { value: string }).value)
}

describe('weir topic produce --ratings', () => {
  it('appends the ratings of every file, of any format, as csv', async () => {
    writeFileSync(join(fresh, 'part-0.gz'), gzipSync('1\t2\t3.5\t874965758\n'))
    writeFileSync(join(fresh, 'part-1.csv'), 'item,rating,user\n"7",4,8\n')
    const { out, ended } = produce()
    expect(await ended).toBe(0)
    expect(out).toEqual([
      `appended 1 rating of ${join(fresh, 'part-0.gz')} to observations`,
      `appended 1 rating of ${join(fresh, 'part-1.csv')} to observations`,
    ])
    expect(await records()).toEqual(['1,2,3.5,874965758', '8,7,4'])
  })

  it('keys the ratings by user: those of one user keep their order in one partition', async () => {
    const log = await EmbeddedLog.open(join(root, 'log'))
    await log.setPartitions('observations', 4)
    await log.close()
    const users = ['1', '2', '3', '4', '5', '6']
    const lines = Array.from({ length: 36 }, (_, i) => `${users[i % 6]},9,${Math.floor(i / 6)}`)
    writeFileSync(join(fresh, 'part-0'), `${lines.join('\n')}\n`)
    expect(await produce().ended).toBe(0)
    const { io, out } = recordedIo()
    await runCommandLine(['topic', 'consume', 'observations', '--data-dir', root, '--json'], io)
    const stored = out.map((line) => JSON.parse(line) as Record<string, string>)
    for (const user of users) {
      const own = stored.filter(({ key }) => key === user)
      expect(own.map(({ value }) => value)).toEqual([0, 1, 2, 3, 4, 5].map((n) => `${user},9,${n}`))
      expect(new Set(own.map(({ partition }) => partition)).size).toBe(1)
    }
    expect(new Set(stored.map(({ partition }) => partition)).size).toBeGreaterThan(1)
  })

  it('watches the folder, appends each file once, and continues after its end', async () => {
    writeFileSync(join(fresh, 'part-0'), '1,2,3\n')
    const first = produce('--watch', '0.02')
    await expect.poll(() => first.out.length, { timeout: 20_000 }).toBe(1)
    writeFileSync(join(fresh, '_part-1'), '4,5,1\n')
    writeFileSync(join(fresh, 'part-2'), '6,7,2\n')
    await expect.poll(() => first.out.length, { timeout: 20_000 }).toBe(2)
    first.interrupt()
    expect(await first.ended).toBe(130)
    writeFileSync(join(fresh, 'part-3'), '8,9,5\n')
    const second = produce('--watch', '0.02')
    await expect.poll(() => second.out.length, { timeout: 20_000 }).toBe(1)
    second.interrupt()
    expect(await second.ended).toBe(130)
    expect(await records()).toEqual(['1,2,3', '6,7,2', '8,9,5'])
  })

  it('reports a file that grows after it was appended, and does not read it again', async () => {
    const file = join(fresh, 'part-0')
    writeFileSync(file, '1,2,3\n')
    const { out, err, ended, interrupt } = produce('--watch', '0.02')
    await expect.poll(() => out.length, { timeout: 20_000 }).toBe(1)
    writeFileSync(file, '1,2,3\n4,5,1\n')
    const warned = () => err.filter((line) => line.startsWith('warning'))
    await expect.poll(() => warned().length, { timeout: 20_000 }).toBe(1)
    writeFileSync(join(fresh, 'part-1'), '6,7,2\n')
    await expect.poll(() => out.length, { timeout: 20_000 }).toBe(2)
    interrupt()
    await ended
    expect(warned()).toEqual([
      `warning: ${file} has 12 bytes and had 6 when its ratings were appended; what has changed since is not in observations: put new ratings into a new file`,
    ])
    expect(await records()).toEqual(['1,2,3', '6,7,2'])
  })

  it('says which columns it reads, and takes them from --columns', async () => {
    writeFileSync(join(fresh, 'part-0'), 'what;who;r\n7;8;4\n')
    const { err, ended } = produce('--columns', 'user=who,item=what,rating=r')
    expect(await ended).toBe(0)
    expect(err).toEqual([
      `columns of ${join(fresh, 'part-0')}: user = column 2 (who), item = column 1 (what), rating = column 3 (r), no time`,
    ])
    expect(await records()).toEqual(['8,7,4'])
  })

  it.each([
    ['user', 'not "user"'],
    ['user=', 'not "user="'],
    ['viewer=a', 'not "viewer=a"'],
    ['rating=a,weight=b', 'names the rating twice'],
  ])('refuses --columns %s', async (columns, message) => {
    const { err, ended } = produce('--columns', columns)
    expect(await ended).toBe(2)
    expect(err.join('\n')).toContain(message)
  })

  it('refuses a damaged list of files', async () => {
    mkdirSync(join(root, 'produced'))
    writeFileSync(join(root, 'produced/observations.json'), '["a')
    const { err, ended } = produce('--watch', '1')
    expect(await ended).toBe(1)
    expect(err.join('\n')).toMatch(/MALFORMED_DATA: .*observations\.json is not the list of files/)
  })

  it.each([
    [['--watch', '0'], '--watch must be a number of seconds above 0'],
    [['--watch', 'soon'], '--watch must be a number of seconds'],
  ])('refuses %o', async (flags, message) => {
    const { err, ended } = produce(...flags)
    expect(await ended).toBe(2)
    expect(err.join('\n')).toContain(message)
  })
})

describe('a line of weir topic produce', () => {
  it.each([
    [{}, '1,50,4', { key: undefined, value: '1,50,4' }],
    [{ 'key-column': '1' }, '1,50,4', { key: '1', value: '1,50,4' }],
    [{ 'key-column': '2' }, '1,50,4', { key: '50', value: '1,50,4' }],
    [{ 'key-column': '3' }, '1,50,4,874965758', { key: '4', value: '1,50,4,874965758' }],
    [{ 'key-column': '9' }, '1,50,4', { key: undefined, value: '1,50,4' }],
    [{ 'key-separator': ':' }, '7:five: stars', { key: '7', value: 'five: stars' }],
    [{ 'key-separator': ':' }, 'no key', { key: undefined, value: 'no key' }],
  ])('with %j: %j is %j', (flags, line, keyed) => {
    expect(keyOfLine(new Flags(flags))(line)).toEqual(keyed)
  })

  it.each(['0', '1.5', '-1', 'user'])('has no column %j', async (column) => {
    const { io, err } = recordedIo()
    const words = ['topic', 'produce', 'x', `--key-column=${column}`, '--data-dir', root]
    expect(await runCommandLine(words, io)).toBe(2)
    expect(err.join()).toContain('--key-column must be a whole number from 1')
  })

  it('has one rule for its key: two are refused by name', async () => {
    const { err, ended } = produce('--key-column', '1')
    expect(await ended).toBe(2)
    expect(err.join('\n')).toContain('--key-column and --ratings exclude each other')
  })
})
