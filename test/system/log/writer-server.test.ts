import { fork } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { BUILT_MODULES_FLAG } from '../../run/setup/built-modules.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true })
})

function temporaryFolder(): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'weir-socket-'))
  folders.push(folder)
  return folder
}

const MODULE = new URL('./other.process.ts', import.meta.url)

/** Writes records from another process; returns its exit code. */
async function writeElsewhere(directory: string, mode: string): Promise<number> {
  const child = fork(MODULE, [directory, mode], { execArgv: [BUILT_MODULES_FLAG] })
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
  it('accepts topics, records and transactions of another process', async () => {
    const directory = temporaryFolder()
    const log = await EmbeddedLog.open(directory)
    expect(await writeElsewhere(directory, 'records')).toBe(0)
    expect(await valuesOf(directory)).toEqual(['0', '1', '2'])
    expect(await writeElsewhere(directory, 'transaction')).toBe(0)
    expect(await valuesOf(directory)).toEqual(['0', '1', '2', 'together'])
    await log.close()
    expect(fs.existsSync(join(directory, '.owner.sock'))).toBe(false)
  })

  it('is continued by the other process when the owner closes it', async () => {
    const directory = temporaryFolder()
    const log = await EmbeddedLog.open(directory)
    const child = fork(MODULE, [directory, 'continues'], { execArgv: [BUILT_MODULES_FLAG] })
    const [first] = await once(child, 'message')
    expect(first).toBe('written')
    await log.close()
    child.send('owner has closed')
    const [second] = await once(child, 'message')
    expect(second).toBe('written again')
    const [code] = await once(child, 'exit')
    expect(code).toBe(0)
    expect(await valuesOf(directory)).toEqual(['before', 'after'])
  })

  it('loses and repeats no record when its owner changes while another process writes', async () => {
    const directory = temporaryFolder()
    const log = await EmbeddedLog.open(directory)
    await log.createTopic('t', { partitions: 1 })
    const child = fork(MODULE, [directory, 'many'], { execArgv: [BUILT_MODULES_FLAG] })
    const ended = once(child, 'exit')
    await once(child, 'message')
    await log.close()
    // The other process owns the log now, or soon.
    const again = await EmbeddedLog.open(directory)
    const producer = again.producer('t')
    producer.sendRecord(null, new TextEncoder().encode('other'), 1, 0, [])
    await producer.sync()
    await again.close()
    expect(await ended).toEqual([0, null])
    const values = (await valuesOf(directory)).filter((value) => value !== 'other')
    expect(values).toEqual(Array.from({ length: 4000 }, (_, i) => `${i}`))
  })

  it('is taken over from a killed owner, whose socket no process serves', async () => {
    const directory = temporaryFolder()
    const child = fork(MODULE, [directory, 'owner'], { execArgv: [BUILT_MODULES_FLAG] })
    await once(child, 'message')
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(fs.existsSync(join(directory, '.owner.sock'))).toBe(true)
    const log = await EmbeddedLog.open(directory)
    await log.createTopic('t', { partitions: 1 })
    await log.close()
  })
})
