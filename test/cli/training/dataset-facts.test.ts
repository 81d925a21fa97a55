import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { examplesOfFile } from '../../../src/cli/files/examples-file.ts'
import { ratingsOfFile } from '../../../src/cli/files/ratings-file.ts'
import { ratingsReadingOf } from '../../../src/cli/files/ratings-reading.ts'
import { DatasetFacts } from '../../../src/cli/training/dataset-facts.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { recordedIo } from '../recorded-io.ts'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-facts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

it('facts of a folder of ratings are the newest time and the hash of the bytes of its files', async () => {
  const folder = temporaryFolder()
  const parts = [gzipSync('1,2,3,100\n1,3,3,300\n'), Buffer.from('2,2,3,200\n')]
  for (const [i, part] of parts.entries()) writeFileSync(join(folder, `part-${i}`), part)
  const facts = new DatasetFacts()
  const reading = ratingsReadingOf(new Flags({}), recordedIo().io)
  expect((await ratingsOfFile(folder, reading, { facts })).size).toBe(3)
  const sha256 = createHash('sha256').update(Buffer.concat(parts)).digest('hex')
  expect(facts.trainedOn(folder, recordedIo().io)).toEqual({
    files: [{ file: folder, sha256, read: { format: 1, count: 3, sum: '5816fdd7cd01a3c4' } }],
    ranges: [],
    newestEventMs: 300_000,
  })
})

it('facts of examples have no time', async () => {
  const file = join(temporaryFolder(), 'a.svm')
  writeFileSync(file, '1 2:1 1:1\n')
  const facts = new DatasetFacts()
  await examplesOfFile(file, { facts })
  const sha256 = createHash('sha256').update('1 2:1 1:1\n').digest('hex')
  expect(facts.trainedOn(file, recordedIo().io)).toMatchObject({
    files: [{ file, sha256 }],
    newestEventMs: -1,
  })
})

it('the place of files has no settings of a URL, which may be secret', () => {
  const { files } = new DatasetFacts().trainedOn(
    'hdfs://n:9870/ratings?delegation=secret',
    recordedIo().io,
  )
  expect(files.map(({ file }) => file)).toEqual(['hdfs://n:9870/ratings'])
})

it('the end of a topic is that before the file is read, with what the topic has up to there', async () => {
  await using topics = new LogTopics(temporaryFolder())
  await topics.create('ratings', { partitions: 1 })
  const producer = await topics.producer('ratings')
  const send = async (line: string): Promise<void> => {
    producer.sendRecord(null, Buffer.from(line), 1, 0, [])
    await producer.sync()
  }
  const facts = new DatasetFacts()
  await send('1,2,3')
  await facts.readTopic(new Flags({ 'in-topic': 'ratings' }), topics, { kind: 'ratings' })
  await send('1,2,4')
  await producer.close()
  facts.onRating('1', '2', 3)
  const said = recordedIo()
  const { files, ranges } = facts.trainedOn('a', said.io)
  expect(ranges).toMatchObject([{ topic: 'ratings', partition: 0, from: 0, to: 1 }])
  expect(ranges[0]?.read?.all).toEqual(files[0]?.read)
  expect(said.err).toEqual([])
  // The topic has one more.
  const others = new DatasetFacts()
  await others.readTopic(new Flags({ 'in-topic': 'ratings' }), topics, { kind: 'ratings' })
  others.onRating('1', '2', 3)
  others.trainedOn('a', said.io)
  expect(said.err).toEqual([
    'warning: topic ratings has 2 observations, which are not the 1 of a: a job that learns begins after all of them',
  ])
  const wrong = new DatasetFacts().readTopic(new Flags({ 'in-topic': 'x' }), topics, {
    kind: 'ratings',
  })
  await expect(wrong).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' })
})
