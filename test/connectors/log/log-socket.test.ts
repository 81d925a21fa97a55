import { fork } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan-topic.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true })
})

function temporaryFolder(): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'weir-socket-'))
  folders.push(folder)
  return folder
}

const MODULE = new URL('./log-other.process.ts', import.meta.url)

/** Writes records from another process; its exit code. */
async function writeElsewhere(directory: string, mode: string): Promise<number> {
  const child = fork(MODULE, [directory, mode], { execArgv: [] })
  const [code] = (await once(child, 'exit')) as [number]
  return code
}

async function valuesOf(directory: string): Promise<string[]> {
  await using topics = new LogTopics(directory)
  const values: string[] = []
  await scanTopic(topics, 't', (record) => {
    values.push(new TextDecoder().decode(record.value()!))
    return true
  })
  return values
}

describe('a log that a process owns', () => {
  it('takes topics, records and transactions of another process', async () => {
    const directory = temporaryFolder()
    const log = await EmbeddedLog.open(directory)
    expect(await writeElsewhere(directory, 'records')).toBe(0)
    expect(await valuesOf(directory)).toEqual(['0', '1', '2'])
    expect(await writeElsewhere(directory, 'transaction')).toBe(0)
    expect(await valuesOf(directory)).toEqual(['0', '1', '2', 'together'])
    await log.close()
    expect(fs.existsSync(join(directory, '.owner.sock'))).toBe(false)
  })

  it('is taken over by the other process at its next attempt when the owner closes it', async () => {
    const directory = temporaryFolder()
    const log = await EmbeddedLog.open(directory)
    const child = fork(MODULE, [directory, 'takes-over'], { execArgv: [] })
    const [first] = await once(child, 'message')
    expect(first).toBe('written')
    await log.close()
    child.send('owner has closed')
    const [second] = await once(child, 'message')
    expect(second).toBe('LOG_LOCKED, then written')
    const [code] = await once(child, 'exit')
    expect(code).toBe(0)
    expect(await valuesOf(directory)).toEqual(['before', 'after'])
  })

  it('is taken from a killed owner, whose socket nobody serves', async () => {
    const directory = temporaryFolder()
    const child = fork(MODULE, [directory, 'owner'], { execArgv: [] })
    await once(child, 'message')
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(fs.existsSync(join(directory, '.owner.sock'))).toBe(true)
    const log = await EmbeddedLog.open(directory)
    await log.createTopic('t', { partitions: 1 })
    await log.close()
  })
})
