import { describe, expect, it, onTestFinished } from 'vitest'
import { LogSink } from '../../../src/connectors/log/sink.ts'
import { LogSource } from '../../../src/connectors/log/source.ts'
import { PartitionWriter } from '../../../src/connectors/log/storage/partition-writer.ts'
import { partitionPath, readTopicConfig } from '../../../src/connectors/log/storage/topic-config.ts'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { nodeFileSystem } from '../../../src/files/node-file-system.ts'
import type { DeliveryGuarantee } from '../../../src/operators/port/sink.ts'
import type { SourceSplit } from '../../../src/operators/port/source.ts'
import { RecordBatchWriter } from '../../../src/wire/batch/record-batch-writer.ts'
import {
  atLeastOnceSinkContract,
  exactlyOnceSinkContract,
  type SinkUnderTest,
} from '../../contracts/sink.ts'
import { type SourceUnderTest, sourceContract } from '../../contracts/source.ts'
import { bytes, drain, openLog, readAll, readerContext, temporaryFolder, text } from './fixture.ts'

async function logSource(): Promise<SourceUnderTest<string>> {
  const directory = temporaryFolder()
  const log = await openLog(directory)
  await log.createTopic('t', { partitions: 3, segmentBytes: 300 })
  const expected: string[][] = [[], [], []]
  const producer = log.producer('t')
  for (let i = 0; i < 14; i++) {
    const partition = i % 2
    await producer.begin('x')
    producer.send(null, bytes(`v${i}`), i, { partition })
    if (i % 5 === 3) await producer.abort()
    else await producer.commit()
    if (i % 5 !== 3) expected[partition]!.push(`v${i}`)
  }
  const deserialize = (record: { value(): Uint8Array | null }): string => text(record.value())
  const source = new LogSource({ directory, topic: 't', bounded: true, deserialize })
  return { source, expected, textOf: (value) => value }
}

async function logSink(guarantee: DeliveryGuarantee): Promise<SinkUnderTest> {
  const directory = temporaryFolder()
  const log = await openLog(directory)
  await log.createTopic('t', { partitions: 2 })
  const sink = new LogSink<string>({
    directory,
    topic: 't',
    guarantee,
    batchBytes: 1_000,
    maxInFlightBytes: 5_000,
    serialize: (value, record) => {
      record.key = bytes(value)
      record.value = bytes(value)
    },
  })
  const visible = async (): Promise<string[]> =>
    (await readAll({ directory, topic: 't' })).map((line) => line.split('=')[1]!)
  return { sink, visible }
}

it('a sink refuses a guarantee that it does not know: it would be none', () => {
  const made = (guarantee: string) => () =>
    new LogSink({
      directory: '.',
      topic: 't',
      serialize: () => {},
      guarantee: guarantee as DeliveryGuarantee,
    })
  for (const guarantee of ['EXACTLY_ONCE', 'exactly_once', 'atLeastOnce', '']) {
    expect(made(guarantee), guarantee).toThrow(
      'guarantee must be "none", "at-least-once" or "exactly-once"',
    )
  }
  expect(made('exactly-once')).not.toThrow()
})

sourceContract('LogSource', logSource)
atLeastOnceSinkContract('LogSink', () => logSink('at-least-once'))
exactlyOnceSinkContract('LogSink', () => logSink('exactly-once'))

/** A partition's writer of another process: its changes are not announced in this one. */
function silentWriter(directory: string, topic: string): Promise<PartitionWriter> {
  const config = readTopicConfig(directory, topic)
  return PartitionWriter.open(partitionPath(directory, topic, 0), config, {
    files: nodeFileSystem,
    syncEveryWrite: false,
    openTransactions: [],
    onChange: () => {},
  })
}

function batchOf(value: string): Uint8Array {
  const writer = new RecordBatchWriter()
  writer.append(null, bytes(value), 1)
  return writer.finish()
}

describe('LogSource', () => {
  /** A reader that starts at the splits of a checkpoint; closed when the test ends. */
  async function restored(directory: string, topic: string, splits: readonly SourceSplit[]) {
    const reader = LogSource.raw({ directory, topic, bounded: true }).createReader()
    onTestFinished(() => reader.close())
    await reader.open(readerContext())
    await reader.addSplits(splits)
    return reader
  }

  const START = [{ partition: 0, nextOffset: -1 }]

  it('refuses the positions of another topic, and of one that was created again', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    for (const topic of ['s1', 's2']) {
      await log.createTopic(topic)
      const producer = log.producer(topic)
      producer.send(null, bytes(topic), 1)
      await producer.flush()
    }
    const first = await restored(directory, 's1', START)
    await drain(first)
    const checkpoint = first.snapshot()
    expect(checkpoint).toMatchObject([{ partition: 0, nextOffset: 1 }])
    await expect(restored(directory, 's2', checkpoint)).rejects.toMatchObject({
      code: 'TOPIC_CHANGED',
      message: expect.stringMatching(/offsets of topic "s1" .* reads topic "s2"/),
    })
    await log.setPartitions('s1', 2)
    expect(await drain(await restored(directory, 's1', checkpoint))).toEqual([])
    await log.deleteTopic('s1')
    await log.createTopic('s1')
    await expect(restored(directory, 's1', checkpoint)).rejects.toMatchObject({
      code: 'TOPIC_CHANGED',
      message: expect.stringContaining('was deleted and created again'),
    })
  })

  it('refuses the positions of the topic of this name in another log', async () => {
    const [here, there] = [temporaryFolder(), temporaryFolder()]
    for (const directory of [here, there]) await (await openLog(directory)).createTopic('t')
    const checkpoint = (await restored(here, 't', START)).snapshot()
    await expect(restored(there, 't', checkpoint)).rejects.toMatchObject({
      code: 'TOPIC_CHANGED',
      message: expect.stringContaining('of the log or cluster'),
    })
  })

  it('restores the positions of a checkpoint of an earlier build, which have no topic', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const producer = log.producer('t')
    for (const value of ['a', 'b']) producer.send(null, bytes(value), 1)
    await producer.flush()
    const reader = await restored(directory, 't', [{ partition: 0, nextOffset: 1 }])
    expect((await drain(reader)).map(({ value }) => text(value))).toEqual(['b'])
  })

  it('finds records of a writer that announces nothing, even after its poll interval has grown', async () => {
    const directory = temporaryFolder()
    await (await openLog(directory)).createTopic('t')
    const source = LogSource.raw({ directory, topic: 't', start: 'latest' })
    const reader = source.createReader()
    const delays: number[] = []
    const clock: Clock = {
      ...systemClock,
      after: (delayMs, callback) => {
        delays.push(delayMs)
        // The polls after the opening of the watch never happen: only the watch reports the change.
        return delayMs > 20 ? () => {} : systemClock.after(delayMs, callback)
      },
    }
    await reader.open({ ...readerContext(), clock })
    await reader.addSplits([{ partition: 0, nextOffset: -1 }])
    const waiting = drain(reader, 1)
    await expect.poll(() => delays.at(-1)).toBeGreaterThan(20)
    const silent = await silentWriter(directory, 't')
    await silent.append(batchOf('late'))
    expect((await waiting).map((r) => text(r.value))).toEqual(['late'])
    await silent.close()
    await reader.close()
  })

  it('reports how many records are left to read', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t', { partitions: 2 })
    const producer = log.producer('t')
    for (const partition of [0, 0, 0, 1]) producer.send(null, bytes('v'), 1, { partition })
    await producer.flush()
    const context = readerContext()
    const reader = LogSource.raw({ directory, topic: 't', start: 'earliest' }).createReader()
    await reader.open(context)
    await reader.addSplits([0, 1].map((partition) => ({ partition, nextOffset: -1 })))
    const pending = (): number | undefined => context.metrics.snapshot()['pendingRecords']
    expect(pending()).toBe(4)
    await drain(reader, 4)
    expect(pending()).toBe(0)
    producer.send(null, bytes('v'), 1, { partition: 1 })
    await producer.flush()
    expect(pending()).toBe(1)
    await reader.close()
    expect(pending()).toBe(0)
  })

  it('wakes its reader when a record is appended', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const source = LogSource.raw({ directory, topic: 't', start: 'latest' })
    const reader = source.createReader()
    await reader.open(readerContext())
    await reader.addSplits([{ partition: 0, nextOffset: -1 }])
    const waiting = drain(reader, 3)
    const producer = log.producer('t')
    for (const value of ['a', 'b', 'c']) {
      producer.send(null, bytes(value), 1)
      await producer.flush()
    }
    expect((await waiting).map((record) => text(record.value))).toEqual(['a', 'b', 'c'])
    await reader.close()
  })

  it('finds partitions that are added later', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const source = LogSource.raw({ directory, topic: 't', discoveryIntervalMs: 10 })
    expect(await source.discover()).toEqual([0])
    await log.setPartitions('t', 2)
    expect(await source.discover()).toEqual([0, 1])
  })

  it('rejects offsets outside the partition', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const reader = LogSource.raw({ directory, topic: 't' }).createReader()
    await reader.open(readerContext())
    await reader.addSplits([{ partition: 0, nextOffset: 5 }])
    await reader.available()
    const output = { collect: () => undefined, progress: () => undefined }
    expect(() => reader.poll(output, 1)).toThrow(/offset 5 is not in \[0, 0\]/)
    await reader.close()
  })

  it('reports the position of an undecodable record, skips it, or sends it to the dead-letter topic', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    await log.createTopic('dead')
    const producer = log.producer('t')
    for (const value of ['1', 'x', '2']) producer.send(null, bytes(value), 1)
    await producer.flush()
    const run = async (undecodable: 'fail' | 'skip' | { deadLetterTopic: string }) => {
      const source = new LogSource({
        directory,
        topic: 't',
        bounded: true,
        undecodable,
        deserialize: (record) => {
          const value = Number(text(record.value()))
          if (Number.isNaN(value)) throw new Error('not a number')
          return value
        },
      })
      const reader = source.createReader()
      const context = readerContext()
      await reader.open(context)
      await reader.addSplits([{ partition: 0, nextOffset: -1 }])
      const values = await drain(reader).finally(() => reader.close())
      return { values, counted: context.metrics.counter('numRecordsUndecodable').value }
    }
    await expect(run('fail')).rejects.toMatchObject({
      code: 'UNPARSABLE_RECORD',
      details: { topic: 't', partition: 0, offset: 1 },
    })
    expect(await run('skip')).toEqual({ values: [1, 2], counted: 1 })
    expect(await run({ deadLetterTopic: 'dead' })).toEqual({ values: [1, 2], counted: 1 })
    expect(await readAll({ directory, topic: 'dead' })).toEqual(['0:0 null=x'])
    await expect(run({ deadLetterTopic: 't' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('would be read and copied again'),
    })
  })
})
