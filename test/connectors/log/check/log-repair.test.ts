import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { FileRepair } from '../../../../src/connectors/log/check/file-repair.ts'
import { checkLog } from '../../../../src/connectors/log/check/log-check.ts'
import { type RepairOptions, repairLog } from '../../../../src/connectors/log/check/log-repair.ts'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import { decodeTopicFile, logIdOf } from '../../../../src/connectors/log/storage/topic-config.ts'
import { LocalLogWriter } from '../../../../src/connectors/log/writer/local-log-writer.ts'
import { RecordBatchWriter } from '../../../../src/wire/batch/record-batch-writer.ts'
import { campaignSize } from '../../../run/campaign-size.ts'
import { bytes, readAll, temporaryFolder } from '../fixture.ts'

async function write(directory: string): Promise<string[]> {
  const log = await EmbeddedLog.open(directory)
  await log.createTopic('t', { segmentBytes: 300 })
  const producer = log.producer('t')
  for (let i = 0; i < 12; i++) {
    producer.send(null, bytes(`value ${i}`), 1)
    await producer.flush()
  }
  await log.close()
  const folder = join(directory, 't/0')
  const names = fs.readdirSync(folder).filter((name) => name.endsWith('.log'))
  return names.sort().map((name) => join(folder, name))
}

const damagedFiles = (directory: string): string[] =>
  [...checkLog(directory)].filter(({ damage }) => damage !== undefined).map(({ file }) => file)

async function repairAll(directory: string, options: RepairOptions): Promise<FileRepair[]> {
  const repairs: FileRepair[] = []
  for await (const repair of repairLog(directory, options)) repairs.push(repair)
  return repairs
}

describe('check and repair of a log', () => {
  it('find nothing in a whole log', async () => {
    const directory = temporaryFolder()
    await write(directory)
    expect(damagedFiles(directory)).toEqual([])
    expect(await repairAll(directory, { topic: undefined, apply: true })).toEqual([])
  })

  it.each([
    ['a closed segment', 1],
    ['the active segment', -1],
  ])('keep all but the damaged batch of %s, and its offset stays empty', async (_, which) => {
    const directory = temporaryFolder()
    const file = (await write(directory)).at(which)!
    const before = await readAll({ directory, topic: 't' })
    const content = fs.readFileSync(file)
    const offset = Number(content.readBigInt64BE(0))
    content[65]! ^= 1
    fs.writeFileSync(file, content)
    expect(damagedFiles(directory)).toEqual([file])
    const plan = await repairAll(directory, { topic: undefined, apply: false })
    expect(plan).toMatchObject([{ file, lost: [[offset, offset + 1]] }])
    expect(fs.readFileSync(file)).toEqual(content)
    expect(await repairAll(directory, { topic: 't', apply: true })).toEqual(plan)
    expect(fs.readFileSync(plan[0]!.saved!)).toEqual(content)
    expect(damagedFiles(directory)).toEqual([])
    const left = before.filter((record) => !record.startsWith(`0:${offset} `))
    expect(await readAll({ directory, topic: 't' })).toEqual(left)
    const log = await EmbeddedLog.open(directory)
    const producer = log.producer('t')
    producer.send(null, bytes('next'), 1)
    await producer.sync()
    await log.close()
    expect(await readAll({ directory, topic: 't' })).toEqual([...left, '0:12 null=next'])
  })

  it('keep the other segments when one is missing', async () => {
    const directory = temporaryFolder()
    const files = await write(directory)
    const before = await readAll({ directory, topic: 't' })
    fs.rmSync(files[0]!)
    expect(damagedFiles(directory)).toEqual([files[0]])
    const [repair] = await repairAll(directory, { topic: undefined, apply: true })
    const end = repair!.lost[0]![1]
    expect(await readAll({ directory, topic: 't' })).toEqual(before.slice(end))
  })

  it('builds the file of aborted transactions again from the segments', async () => {
    for (const [from, to] of [
      [0, 0],
      [12, 13],
      [45, 72],
    ] as const) {
      const directory = temporaryFolder()
      await writeTransactions(directory)
      const file = join(directory, 't/0/aborted')
      const before = await readAll({ directory, topic: 't' })
      const whole = fs.readFileSync(file)
      const damaged = whole.subarray(0, to === 13 ? whole.length : from)
      if (to === 13) damaged[from]! ^= 1
      fs.writeFileSync(file, damaged)
      expect(damagedFiles(directory)).toEqual([file])
      const [repair] = await repairAll(directory, { topic: undefined, apply: true })
      expect(repair).toMatchObject({ file, saved: `${file}.damaged`, lost: [] })
      expect(damagedFiles(directory)).toEqual([])
      expect(await readAll({ directory, topic: 't' })).toEqual(before)
      expect(before.some((record) => record.includes('aborted'))).toBe(false)
    }
  })

  it('does not build it again when a marker may be lost, and says so', async () => {
    const directory = temporaryFolder()
    await writeTransactions(directory)
    const file = join(directory, 't/0/aborted')
    fs.rmSync(file)
    const segment = join(directory, 't/0/00000000000000000000.log')
    const bytes = fs.readFileSync(segment)
    // The first marker follows the first batch.
    const marker = 12 + bytes.readInt32BE(8)
    bytes[marker + 30]! ^= 1
    fs.writeFileSync(segment, bytes)
    for (const apply of [false, true, true]) {
      const repairs = await repairAll(directory, { topic: undefined, apply })
      const repair = repairs.find((one) => one.file === file)
      expect(repair?.advice).toMatch(
        /restore it from a copy; .* (damaged at byte|it may have ended a transaction)/,
      )
    }
    expect(fs.existsSync(file)).toBe(false)
  })

  it('finds one flipped bit of topic.json by its checksum, and says what to write into a lost one', async () => {
    const directory = temporaryFolder()
    await write(directory)
    const file = join(directory, 't/topic.json')
    const whole = fs.readFileSync(file)
    const before = await readAll({ directory, topic: 't' })
    for (let at = 0; at < whole.length; at += campaignSize(23, 7)) {
      const damaged = Buffer.from(whole)
      damaged[at]! ^= 1 << (at % 8)
      fs.writeFileSync(file, damaged)
      if (damagedFiles(directory).length === 0) continue
      expect(await repairAll(directory, { topic: 't', apply: true })).toMatchObject([
        { file, saved: expect.stringMatching(/topic\.json\.damaged/) },
      ])
      expect(fs.readFileSync(file)).toEqual(whole)
    }
    for (const damage of [() => fs.truncateSync(file, 40), () => fs.rmSync(file)]) {
      damage()
      expect(damagedFiles(directory)).toEqual([file])
      const [repair] = await repairAll(directory, { topic: undefined, apply: true })
      const advised = /write (\{.*?\}) into it/.exec(repair!.advice!)
      fs.writeFileSync(file, advised![1]!)
      expect(damagedFiles(directory)).toEqual([])
      expect(await readAll({ directory, topic: 't' })).toEqual(before)
    }
  })

  it('writes the configuration of the internal topic again', async () => {
    const directory = temporaryFolder()
    await writeTransactions(directory)
    const file = join(directory, '__transactions/topic.json')
    const { id, ...whole } = decodeTopicFile(file, fs.readFileSync(file))
    expect(id).not.toBe('')
    fs.rmSync(file)
    await expect(EmbeddedLog.open(directory)).rejects.toThrow(
      /topic\.json is damaged: it is missing/,
    )
    await repairAll(directory, { topic: undefined, apply: true })
    expect(decodeTopicFile(file, fs.readFileSync(file))).toEqual({ ...whole, id: '' })
    await (await EmbeddedLog.open(directory)).close()
    expect(logIdOf(directory)).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('looks at the partitions of a topic whose configuration is damaged', async () => {
    const directory = temporaryFolder()
    const [segment] = await write(directory)
    fs.truncateSync(segment!, 30)
    fs.truncateSync(join(directory, 't/topic.json'), 3)
    expect(damagedFiles(directory)).toEqual([join(directory, 't/topic.json'), segment])
  })
})

/** A topic with a committed and two aborted transactions. */
async function writeTransactions(directory: string): Promise<void> {
  const writer = await LocalLogWriter.open(directory, { fsync: 'none' })
  await writer.createTopic('t', {})
  for (const [id, isCommitted] of [
    ['a', false],
    ['b', true],
    ['c', false],
  ] as const) {
    const producer = await writer.initProducer(id)
    const batch = new RecordBatchWriter(256)
    batch.append(null, bytes(isCommitted ? 'committed' : 'aborted'), 1)
    const { producerId, epoch: producerEpoch } = producer
    const taken = batch.take({ transactional: true, producerId, producerEpoch })
    await writer.append('t', 0, taken, id)
    await writer.endTransaction(producer, isCommitted)
  }
  await writer.close()
}
