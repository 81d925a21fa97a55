import * as fs from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { checkLog } from '../../../../src/connectors/log/check/log-check.ts'
import { repairLog } from '../../../../src/connectors/log/check/log-repair.ts'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import { RecordBatchWriter } from '../../../../src/wire/batch/record-batch-writer.ts'
import { bytes, temporaryFolder } from '../fixture.ts'

/** A compacted topic `t` with an aborted transaction, and a topic `other`. */
async function writeLog(directory: string): Promise<void> {
  const log = await EmbeddedLog.open(directory, { warn: () => {} })
  await log.createTopic('t', { cleanupPolicy: 'compact', segmentBytes: 100 })
  await log.createTopic('other')
  for (let n = 0; n < 6; n++) {
    const producer = await log.writer.initProducer('id')
    const batch = new RecordBatchWriter(256)
    batch.append(bytes('k'), bytes(`${n}`), 1)
    const { producerId, epoch: producerEpoch } = producer
    const taken = batch.take({ transactional: true, producerId, producerEpoch })
    await log.writer.append('t', 0, taken, 'id')
    await log.writer.endTransaction(producer, n !== 2)
  }
  await log.writer.clean()
  await log.close()
}

/** The content of every file of a topic. */
function contentOf(directory: string, topic: string): Record<string, string> {
  const names = fs.readdirSync(join(directory, topic), { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => fs.statSync(join(directory, topic, name)).isFile()).sort()
  return Object.fromEntries(
    files.map((name) => [name, fs.readFileSync(join(directory, topic, name)).toString('hex')]),
  )
}

/** JSON of a later version, whose checksum is that of the text without it. */
function newerJson(file: string, indent?: number): void {
  const { crc32: _, ...fields } = JSON.parse(fs.readFileSync(file, 'utf8'))
  const later = { ...fields, version: fields.version + 1 }
  const sum = crc32(JSON.stringify(later))
  fs.writeFileSync(file, JSON.stringify({ ...later, crc32: sum }, null, indent))
}

function newerStatus(file: string): void {
  const content = fs.readFileSync(file)
  content.writeUInt16LE(3, 4)
  content.writeUInt32LE(crc32(content.subarray(0, 60)), 60)
  fs.writeFileSync(file, content)
}

function newerHeader(file: string): void {
  const content = fs.readFileSync(file)
  content.writeUInt32LE(2, 4)
  fs.writeFileSync(file, content)
}

describe.each([
  ['topic.json', (file: string) => newerJson(file, 2)],
  ['0/partition', newerJson],
  ['0/status', newerStatus],
  ['0/aborted', newerHeader],
  ['0/compacted', newerJson],
] as const)('a file %s that a later build wrote', (name, makeNewer) => {
  it('is no damage: check names it, and repair, the next opening and cleaning change nothing beside it', async () => {
    const directory = temporaryFolder()
    await writeLog(directory)
    const file = join(directory, 't', name)
    makeNewer(file)
    const [segment] = Object.keys(contentOf(directory, 't')).filter((one) => one.endsWith('.log'))
    // Damage beside it is not repaired either: this build does not know what the file says.
    const damaged = join(directory, 't', segment!)
    const content = fs.readFileSync(damaged)
    content[content.length - 1]! ^= 1
    fs.writeFileSync(damaged, content)
    const before = contentOf(directory, 't')

    const found = [...checkLog(directory)].filter(({ newer }) => newer !== undefined)
    expect(found.map((one) => one.file)).toEqual([file])
    expect(found[0]).toMatchObject({ newer: expect.stringMatching(/use the build that wrote it$/) })
    expect(found[0]!.damage).toBeUndefined()
    for await (const repair of repairLog(directory, { topic: undefined, apply: true })) {
      expect(repair).toMatchObject({ saved: undefined, lost: [] })
      expect(repair.advice).toMatch(/use the build that wrote it; nothing was changed$/)
    }
    expect(contentOf(directory, 't')).toEqual(before)

    fs.writeFileSync(damaged, Buffer.from(before[segment!]!, 'hex'))
    const warnings: string[] = []
    const log = await EmbeddedLog.open(directory, { warn: (line) => warnings.push(line) })
    const refusal = await log.writer.clean().then(
      () => warnings.join('\n'),
      (error: unknown) => String(error),
    )
    expect(refusal).toContain('use the build that wrote it')
    expect(log.bounds('other', 0)).toMatchObject({ endOffset: 0 })
    await log.close()
    const after = contentOf(directory, 't')
    expect(after[name]).toBe(before[name])
    const segments = (files: Record<string, string>) =>
      Object.entries(files).filter(([one]) => one.endsWith('.log'))
    expect(segments(after)).toEqual(segments(before))
  })
})
