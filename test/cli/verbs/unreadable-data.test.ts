import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { recordedIo } from '../recorded-io.ts'

/** A user without rights: `nobody` of Linux. */
const STRANGER = 65_534

const COMMANDS = [
  ['topic', 'list'],
  ['topic', 'consume', 'notes'],
  ['model', 'list'],
  ['checkpoint', 'list'],
  ['checkpoint', 'verify'],
  ['log', 'check'],
]

let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-unreadable-'))
  // The other user may look into this folder, and not into the data.
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 'data', 'checkpoints'), { recursive: true })
  await using log = await EmbeddedLog.open(join(folder, 'data', 'log'))
  await log.createTopic('notes', { partitions: 1 })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function run(command: readonly string[], data: string) {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine([...command, '--data-dir', join(folder, data)], io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

/** Runs a command as a user who may not look into the data. */
async function runAsStranger(command: readonly string[]) {
  // The stranger may not read the code either, so it is loaded before.
  await run(command, 'data')
  const data = join(folder, 'data')
  const isRoot = process.getuid?.() === 0
  chmodSync(data, isRoot ? 0o700 : 0)
  if (isRoot) process.seteuid!(STRANGER)
  try {
    return await run(command, 'data')
  } finally {
    if (isRoot) process.seteuid!(0)
    chmodSync(data, 0o700)
  }
}

describe('a data folder that cannot be read is an error with its path, and does not look empty', () => {
  it.each(COMMANDS)('weir %s %s: the user has no right to it', async (...command) => {
    const { code, out, err } = await runAsStranger(command)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain('PERMISSION_DENIED: ')
    expect(err).toContain(join(folder, 'data'))
  })

  it.each(COMMANDS)('weir %s %s: its path leads through a file', async (...command) => {
    writeFileSync(join(folder, 'file'), '')
    const { code, out, err } = await run(command, 'file')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/FILE_NOT_FOUND: /)
    expect(err).toContain(join(folder, 'file'))
  })

  it.each(COMMANDS)('weir %s %s: its symbolic link leads to itself', async (...command) => {
    rmSync(join(folder, 'circle'), { force: true })
    symlinkSync('circle', join(folder, 'circle'))
    const { code, out, err } = await run(command, 'circle')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/FILE_NOT_FOUND: .*its symbolic links form a circle/)
    expect(err).toContain(join(folder, 'circle'))
  })
})
