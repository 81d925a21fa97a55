import { describe, expect, it } from 'vitest'
import { sourceTopics } from '../../../../src/cluster/rest/job/source-topics.ts'
import { LogSource } from '../../../../src/connectors/log/source.ts'
import { deserializeValue } from '../../../../src/connectors/records/value-deserializer.ts'
import { LogTopics } from '../../../../src/connectors/topics/log-topics.ts'
import { stringSerializer } from '../../../../src/core/serializer.ts'
import type { DataStream } from '../../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../../../src/dataflow/watermark-strategy.ts'
import { mapState } from '../../../../src/state/port/descriptors.ts'
import { MiniCluster } from '../../../../src/testing/mini-cluster.ts'
import { temporaryFolder } from '../../../connectors/log/fixture.ts'

const PARTITIONS = 2
const WAIT = { timeout: 60_000, interval: 20 }
const RULES = mapState<string, string>('rules')

/** A log with the topics a and b, each with this many records in its two partitions. */
async function logWith(records: Readonly<Record<string, readonly number[]>>) {
  const directory = temporaryFolder()
  await using topics = new LogTopics(directory)
  for (const [topic, counts] of Object.entries(records)) {
    await topics.create(topic, { partitions: PARTITIONS })
    const producer = await topics.producer(topic)
    for (const [partition, count] of counts.entries()) {
      for (let i = 0; i < count; i++) {
        producer.sendRecord(null, Buffer.from(`${topic}${i}`), 1000, partition, [])
      }
    }
    await producer.sync()
    await producer.close()
  }
  return directory
}

/** What is known of the topics of a running job, once all of it is read. */
async function topicsOf(
  directory: string,
  build: (read: (topic: string) => DataStream<string>) => void,
) {
  await using cluster = new MiniCluster()
  const env = new StreamExecutionEnvironment({ parallelism: PARTITIONS, maxParallelism: 8 })
  build((topic) =>
    env
      .fromSource(
        new LogSource({ directory, topic, deserialize: deserializeValue(stringSerializer) }),
        noWatermarks<string>(),
      )
      .uid(topic),
  )
  const job = cluster.startLocal(env.graph('topics'))
  const shown = async () =>
    (await sourceTopics(job)).map(({ topic, lag, partitions }) => ({
      topic,
      lag,
      positions: partitions.map(({ position }) => position),
    }))
  await job.waitFor('RUNNING')
  const isKnown = async () => (await shown()).every(({ lag }) => lag === 0)
  await expect.poll(isKnown, WAIT).toBe(true)
  return await shown()
}

describe('the topics of a job', () => {
  it('have positions and lag without keyed state, also where their records are broadcast', async () => {
    const directory = await logWith({ a: [5, 2], b: [0, 3] })
    const shown = await topicsOf(directory, (read) => {
      read('a')
        .connect(read('b').broadcast(RULES))
        .process<string>(() => ({ processElement() {}, processBroadcastElement() {} }))
        .uid('rules')
        .discard()
    })
    expect(shown).toEqual([
      { topic: 'a', lag: 0, positions: [5, 2] },
      { topic: 'b', lag: 0, positions: [0, 3] },
    ])
  })

  it('have those of the slots with keyed state behind them, and of no others', async () => {
    const directory = await logWith({ a: [4, 1], b: [2, 2] })
    const shown = await topicsOf(directory, (read) => {
      // One slot counts the records of a, both count those of b.
      const count = (): { processElement(): void } => ({ processElement() {} })
      read('a')
        .keyBy((value) => value)
        .process(count)
        .setParallelism(1)
        .uid('one')
        .discard()
      read('b')
        .keyBy((value) => value)
        .process(count)
        .uid('both')
        .discard()
    })
    expect(shown).toEqual([
      { topic: 'a', lag: 0, positions: [4, 1] },
      { topic: 'b', lag: 0, positions: [2, 2] },
    ])
  })
})
