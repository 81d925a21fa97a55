import { expect, it } from 'vitest'
import { LogSource } from '../../../src/connectors/log/source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../../src/dataflow/watermark-strategy.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { bytes, drain, openLog, readerContext, temporaryFolder, text } from './fixture.ts'

async function twoPartitions() {
  const directory = temporaryFolder()
  const log = await openLog(directory)
  await log.createTopic('t', { partitions: 2 })
  const producer = log.producer('t')
  const append = async (partition: number, ...times: readonly number[]): Promise<void> => {
    for (const time of times)
      producer.send(null, bytes(`${partition}@${time}`), time, { partition })
    await producer.flush()
  }
  return { directory, append }
}

it('a reader delivers no record of a partition that is held back, also one that comes while it waits', async () => {
  const { directory, append } = await twoPartitions()
  const reader = LogSource.raw({ directory, topic: 't', start: 'earliest' }).createReader()
  await reader.open(readerContext())
  await reader.addSplits([0, 1].map((partition) => ({ partition, nextOffset: -1 })))
  const next = async (count: number): Promise<string[]> =>
    (await drain(reader, count)).map(({ value }) => text(value))
  await append(1, 1, 2)
  reader.holdBack!(new Set([1]))
  const waiting = next(1)
  await append(1, 3)
  await append(0, 4)
  expect(await waiting).toEqual(['0@4'])
  expect(reader.poll({ collect: () => expect.unreachable(), progress() {} }, 9)).toBe('idle')
  const more = next(3)
  reader.holdBack!(new Set())
  expect(await more).toEqual(['1@1', '1@2', '1@3'])
  await reader.close()
})

it('a job reads a partition on when the slowest one of its source has come near', async () => {
  const { directory, append } = await twoPartitions()
  const sink = new MemorySink<string>()
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const alignment = { group: 'g', maxDriftMs: 1_000, updateIntervalMs: 1 }
  env
    .fromSource(
      new LogSource<string>({
        directory,
        topic: 't',
        deserialize: (record) => text(record.value()),
      }),
      monotonousTimestamps<string>({ alignment }),
    )
    .uid('source')
    .sinkTo(sink)
  await using cluster = new MiniCluster()
  const job = cluster.startLocal(env.graph())
  const seen = (line: string): Promise<unknown> => until(line, () => sink.values.includes(line))
  await append(0, 1)
  await append(1, 10_000)
  await seen('0@1')
  await seen('1@10000')
  // The groups have answered when these were read.
  for (let time = 2; time < 60; time++) {
    await append(0, time)
    await seen(`0@${time}`)
  }
  await append(1, 10_001)
  for (let time = 60; time < 120; time++) {
    await append(0, time)
    await seen(`0@${time}`)
  }
  expect(sink.values).not.toContain('1@10001')
  await append(0, 9_500)
  await seen('1@10001')
  await job.cancel()
})
