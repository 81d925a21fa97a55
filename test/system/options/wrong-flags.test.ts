import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { weir } from '../cli/command-process.ts'

let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-wrong-flags-'))
  writeFileSync(join(folder, 'jobs.yaml'), 'slots: many\n')
  const words = ['generate', 'als-model', '--users', '20', '--items', '10', '--factors', '4']
  expect((await weir(words, { cwd: folder }).ended).code).toBe(0)
})

afterAll(() => rmSync(folder, { recursive: true }))

/** Names of all files, without those of the log. */
const files = (): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()

describe('a wrong flag ends a command before it opens a port or writes a file', () => {
  it.each([
    [['run', 'als-serving', '--port', '99999'], '--port must be a whole number from 0 to 65535'],
    [['run', 'als-serving', '-D', 'heartbeat.timeout=0'], 'the nearest valid value is 1 ms'],
    [['run', 'als-serving', '--titles', 'none.csv'], '--titles: cannot read none.csv'],
    [['run', 'als-serving', '--restore-from', 'none'], '--restore-from: there is no folder none'],
    [['run', 'als-serving', '--port=0', '--port=0'], '--port was given twice: 0, 0'],
    [['run', 'als-serving', '--config', 'jobs.yaml'], 'slots in jobs.yaml must be a whole number'],
    [['learn', 'als', '--learning-rate', '0.1'], '--learning-rate needs --rule sgd'],
    [['learn', 'svm', '--l1', '1'], '--l1 needs --rule ftrl'],
    [['gateway', '--listen', '127.0.0.1:http'], '--listen must be HOST:PORT'],
    [['cluster', 'start', '--modules', 'none'], '--modules names none, and there is no such file'],
    [['run', 'models'], '--repository names models, and there is no such folder'],
    [['topic', 'create', 'x', '--partitions', '0'], 'the nearest is 1'],
    [['token', 'create', '--role', 'reader'], 'did you mean "read"?'],
    [['train', 'als', '--ratings', 'jobs.yaml', '--test', 'none'], '--test names none'],
    [['predict', '1', '2', '--consistency', 'at-leest:0:1'], 'did you mean "at-least:0:1"?'],
  ])('weir %j', async (words, message) => {
    const before = files()
    const { code, stdout, stderr } = await weir([...words], { cwd: folder }).ended
    const isFolder = stderr.includes('CHECKPOINT_NOT_FOUND')
    expect({ code, stdout }).toEqual({ code: isFolder ? 1 : 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('serving queries')
    expect(files()).toEqual(before)
  })
})
