import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { PartitionReader } from '../../src/connectors/log/storage/partition-reader.ts'

const root = fs.mkdtempSync(join(tmpdir(), 'weir-torn-'))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const LOG_FILE = 't/0/00000000000000000000.log'

/**
 * Writes ten batches of one record each and copies the folder before the log is closed, which would force
 * it. Returns the file's length before the last.
 */
async function writeTen(directory: string): Promise<number> {
  const living = `${directory}-living`
  const log = await EmbeddedLog.open(living, { fsync: 'none' })
  await log.createTopic('t')
  const producer = log.producer('t')
  let before = 0
  for (let i = 0; i < 10; i++) {
    before = fs.statSync(join(living, LOG_FILE)).size
    producer.send(Uint8Array.of(i), new Uint8Array(20).fill(i), 1)
    await producer.flush()
  }
  const filter = (path: string): boolean => !/\.(lock|sock)$/.test(path)
  fs.cpSync(living, directory, { recursive: true, filter })
  await log.close()
  return before
}

/** Opens the damaged log and appends one record. Returns its number of records. */
async function recoverAndAppend(directory: string): Promise<number> {
  const log = await EmbeddedLog.open(directory, { fsync: 'none' })
  const producer = log.producer('t')
  producer.send(null, new Uint8Array(1), 1)
  await producer.flush()
  const { endOffset } = log.bounds('t', 0)
  await log.close()
  const reader = new PartitionReader(join(directory, 't/0'))
  const fetched = await reader.fetch(0, new Uint8Array(100_000))
  reader.close()
  expect(fetched?.nextOffset).toBe(endOffset)
  return endOffset
}

describe('a log whose last batch is damaged', () => {
  it('opens without that batch, for every cut of the file', async () => {
    const original = join(root, 'cut')
    const before = await writeTen(original)
    const size = fs.statSync(join(original, LOG_FILE)).size
    for (let length = before; length <= size; length++) {
      const copy = join(root, `cut-${length}`)
      fs.cpSync(original, copy, { recursive: true })
      fs.truncateSync(join(copy, LOG_FILE), length)
      expect(await recoverAndAppend(copy)).toBe(length === size ? 11 : 10)
      fs.rmSync(copy, { recursive: true })
    }
  })

  it('opens without that batch, for every changed byte', async () => {
    const original = join(root, 'flip')
    const before = await writeTen(original)
    const content = fs.readFileSync(join(original, LOG_FILE))
    for (let at = before; at < content.length; at++) {
      const copy = join(root, `flip-${at}`)
      fs.cpSync(original, copy, { recursive: true })
      const damaged = Buffer.from(content)
      damaged[at]! ^= 0xff
      fs.writeFileSync(join(copy, LOG_FILE), damaged)
      const end = await recoverAndAppend(copy)
      expect([at - before, end]).toEqual([at - before, 10])
      fs.rmSync(copy, { recursive: true })
    }
  })

  it('opens when status, index and aborted list are lost', async () => {
    const directory = join(root, 'lost')
    await writeTen(directory)
    fs.rmSync(join(directory, 't/0/status'))
    fs.rmSync(join(directory, 't/0/00000000000000000000.index'))
    expect(await recoverAndAppend(directory)).toBe(11)
  })
})
