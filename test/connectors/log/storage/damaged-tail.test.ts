import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import type { LogOptions } from '../../../../src/connectors/log/writer/log-options.ts'
import { bytes, readAll, temporaryFolder } from '../fixture.ts'

const FILE = 't/0/00000000000000000000.log'

/** Writes four batches of one record. Returns the size of a batch. */
async function writeFour(directory: string, options: LogOptions = {}): Promise<EmbeddedLog> {
  const log = await EmbeddedLog.open(directory, options)
  await log.createTopic('t')
  const producer = log.producer('t')
  for (let i = 0; i < 4; i++) {
    producer.send(null, bytes(`value ${i}`), 1)
    await producer.flush()
  }
  return log
}

function flip(file: string, position: number): void {
  const content = fs.readFileSync(file)
  content[position]! ^= 8
  fs.writeFileSync(file, content)
}

/** Copies a log that is open, as a crash would leave it. */
function copyOf(directory: string): string {
  const copy = temporaryFolder()
  const filter = (path: string): boolean => !/\.(lock|sock)$/.test(path)
  fs.cpSync(directory, copy, { recursive: true, filter })
  return copy
}

describe('a log whose active segment is damaged', () => {
  it.each(['every-batch', 'none'] as const)(
    'is not cut where its bytes were forced, and other topics work (%s)',
    async (fsync) => {
      const directory = temporaryFolder()
      const log = await writeFour(directory, { fsync })
      await log.createTopic('other')
      await log.close()
      const size = fs.statSync(join(directory, FILE)).size
      flip(join(directory, FILE), 70)
      const warnings: string[] = []
      const again = await EmbeddedLog.open(directory, { warn: (text) => warnings.push(text) })
      expect(warnings.join()).toMatch(
        /t\/0\/0+\.log is damaged at byte 0, offset 0.*weir log repair/,
      )
      const producer = again.producer('t')
      producer.send(null, bytes('x'), 1)
      await expect(producer.flush()).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
      const other = again.producer('other')
      other.send(null, bytes('x'), 1)
      await other.sync()
      await again.close()
      expect(fs.statSync(join(directory, FILE)).size).toBe(size)
    },
  )

  it('keeps intact batches behind a damage that a power cut may have left', async () => {
    const directory = temporaryFolder()
    const log = await writeFour(directory, { fsync: 'none' })
    const copy = copyOf(directory)
    await log.close()
    const before = fs.readFileSync(join(copy, FILE))
    const batch = before.readInt32BE(8) + 12
    flip(join(copy, FILE), batch + 70)
    const damaged = fs.readFileSync(join(copy, FILE))
    const warnings: string[] = []
    const again = await EmbeddedLog.open(copy, { warn: (text) => warnings.push(text) })
    expect(warnings.join()).toMatch(/is damaged at byte \d+, offset 1, and intact batches follow/)
    expect(await readAll({ directory: copy, topic: 't' })).toEqual(['0:0 null=value 0'])
    await again.close()
    const kept = fs.readFileSync(join(copy, `${FILE}.${batch}.damaged`))
    expect(kept).toEqual(damaged.subarray(batch))
  })

  it('does not begin again when the active segment is missing, or the first one', async () => {
    const directory = temporaryFolder()
    const log = await EmbeddedLog.open(directory)
    await log.createTopic('t', { segmentBytes: 200 })
    const producer = log.producer('t')
    for (let i = 0; i < 9; i++) {
      producer.send(null, bytes(`value ${i}`), 1)
      await producer.flush()
    }
    await log.close()
    const segments = fs.readdirSync(join(directory, 't/0')).filter((name) => /log$/.test(name))
    for (const name of [segments.at(0)!, segments.at(-1)!]) {
      const file = join(directory, 't/0', name)
      fs.renameSync(file, `${file}.away`)
      const warnings: string[] = []
      const again = await EmbeddedLog.open(directory, { warn: (text) => warnings.push(text) })
      expect(warnings.join()).toContain(`${file} is damaged at byte 0`)
      await again.close()
      fs.renameSync(`${file}.away`, file)
    }
    expect(await readAll({ directory, topic: 't' })).toHaveLength(9)
  })

  it('refuses to open when the states of transactions are damaged, and cuts nothing off', async () => {
    const directory = temporaryFolder()
    const log = await writeFour(directory)
    const producer = log.producer('t')
    await producer.begin('id')
    await producer.commit()
    await log.close()
    const file = join(directory, '__transactions/0/00000000000000000000.log')
    const { size } = fs.statSync(file)
    flip(file, 100)
    await expect(EmbeddedLog.open(directory)).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
      details: { file },
    })
    expect(fs.statSync(file).size).toBe(size)
  })
})

describe('a topic whose configuration is damaged', () => {
  it('is unusable; the other topics are not', async () => {
    const directory = temporaryFolder()
    const log = await writeFour(directory)
    await log.createTopic('other')
    await log.close()
    const file = join(directory, 't/topic.json')
    const whole = fs.readFileSync(file, 'utf8')
    for (const text of ['', whole.replace('"partitions": 1', '"partitions": 3'), 'null']) {
      fs.writeFileSync(file, text)
      const again = await EmbeddedLog.open(directory, { warn: () => {} })
      expect(again.topics()).toEqual(['other', 't'])
      expect(() => again.describe('t')).toThrow(/topic\.json is damaged/)
      const other = again.producer('other')
      other.send(null, bytes('x'), 1)
      await other.sync()
      await again.close()
    }
    fs.writeFileSync(file, whole)
    expect(await readAll({ directory, topic: 't' })).toHaveLength(4)
  })

  it('is read in version 1, which has no checksum', async () => {
    const directory = temporaryFolder()
    const log = await writeFour(directory)
    await log.close()
    const file = join(directory, 't/topic.json')
    const { crc32: _, ...content } = JSON.parse(fs.readFileSync(file, 'utf8'))
    fs.writeFileSync(file, JSON.stringify({ ...content, version: 1 }))
    expect(await readAll({ directory, topic: 't' })).toHaveLength(4)
  })
})
