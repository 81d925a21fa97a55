import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { BUILT_MODULES_FLAG } from '../../run/setup/built-modules.ts'

const MODULE = new URL('./transaction.process.ts', import.meta.url)
const folders: string[] = []
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true })
})

function temporaryFolder(): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'weir-abandoned-'))
  folders.push(folder)
  return folder
}

/** A process with an open transaction, which has one record of 300,000 bytes in the log. */
async function openElsewhere(directory: string): Promise<ChildProcess> {
  const child = fork(MODULE, [directory], { execArgv: [BUILT_MODULES_FLAG] })
  children.push(child)
  await once(child, 'message')
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

async function write(log: EmbeddedLog, value: string): Promise<void> {
  const producer = log.producer('t')
  producer.sendRecord(null, new TextEncoder().encode(value), 1, 0, [])
  await producer.sync()
}

/** Bytes of each committed record. */
async function sizesOf(directory: string): Promise<number[]> {
  await using topics = new LogTopics(directory)
  const sizes: number[] = []
  await scanTopic(topics, 't', (record) => {
    sizes.push(record.value()!.length)
    return true
  })
  return sizes
}

describe('a transaction of a process that is killed', () => {
  it('is dropped at once where another process owns the log', async () => {
    const directory = temporaryFolder()
    await using log = await EmbeddedLog.open(directory)
    const child = await openElsewhere(directory)
    await write(log, 'after')
    expect(await sizesOf(directory)).toEqual([])
    await kill(child)
    await expect.poll(() => sizesOf(directory)).toEqual(['after'.length])
  })

  it('is dropped by the next process that opens the log', async () => {
    const directory = temporaryFolder()
    await kill(await openElsewhere(directory))
    await using log = await EmbeddedLog.open(directory)
    await write(log, 'after')
    expect(await sizesOf(directory)).toEqual(['after'.length])
  })

  it('is dropped for a process that only reads, before it waits for what comes behind', async () => {
    const directory = temporaryFolder()
    const child = await openElsewhere(directory)
    await using other = await EmbeddedLog.open(directory)
    await write(other, 'behind')
    await kill(child)
    expect(await sizesOf(directory)).toEqual([])
    await using topics = new LogTopics(directory)
    await topics.dropAbandoned('t')
    expect(await sizesOf(directory)).toEqual(['behind'.length])
  })
})

describe('a transaction of a process that lives', () => {
  it('goes on when the owner of the log closes it', async () => {
    const directory = temporaryFolder()
    const log = await EmbeddedLog.open(directory)
    const child = await openElsewhere(directory)
    await log.close()
    // The next owner opens the log before the other process needs it again.
    await using next = await EmbeddedLog.open(directory)
    const exit = once(child, 'exit')
    child.send('commit')
    expect(await exit).toEqual([0, null])
    await write(next, 'after')
    expect(await sizesOf(directory)).toEqual([300_000, 'after'.length])
  })
})
