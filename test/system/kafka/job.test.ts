import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createKafkaTopic, deleteKafkaTopic } from '../../../src/connectors/kafka/client/topics.ts'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import type { RawKafkaSourceOptions } from '../../../src/connectors/kafka/source-options.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { deserializeValue } from '../../../src/connectors/records/value-deserializer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps, noWatermarks } from '../../../src/dataflow/watermark-strategy.ts'
import type { Sink, SinkWriter } from '../../../src/operators/port/sink.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { groupLag } from '../../services/kafka/tools.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { drain, newTopic, openCluster, openReader, produce, readerContext } from './fixture.ts'
import {
  configurationIn,
  expectEachOnce,
  JobProcess,
  Load,
  OUTPUT_PARTITIONS,
} from './fold/fixture.ts'
import { joinGroup } from './kafkajs-fixture.ts'

let broker: SharedKafka
const client = (): { brokers: string } => ({ brokers: broker.bootstrap })

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-kafka-job-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('a job from Kafka to Kafka', () => {
  it('writes every result once although slots and whole processes are killed under load', async () => {
    const folder = temporaryFolder()
    const input = await newTopic(client(), { partitions: 3 })
    const output = await newTopic(client(), { partitions: OUTPUT_PARTITIONS })
    const load = await Load.to(broker.bootstrap, input)
    load.start()
    const job = { ...client(), input, output }
    const random = seededRandom(Number(process.env['WEIR_SEED'] ?? 5))
    let running: JobProcess | undefined
    onTestFinished(() => running?.kill())
    for (let kill = 0; kill < 4; kill++) {
      running ??= new JobProcess(folder, kill < 2 ? 2 : 3, job)
      // The first kill happens before anything is durable.
      await running.untilRunning(kill === 0 ? 0 : 2)
      await pause(random.below(300), 'a random moment of a kill')
      if (kill % 2 === 0) running.killSlot(random.below(2))
      else {
        await running.kill()
        running = undefined
      }
    }
    await running?.kill()
    await load.stop()
    running = new JobProcess(folder, 2, { ...job, bounded: true })
    expect(await running.exited).toBe(0)
    await expectEachOnce(broker, output, load)
  })
})

/** A sink that accepts no records until the test opens it. */
function gatedSink<T>(): { readonly sink: Sink<T>; readonly written: T[]; open(): void } {
  const written: T[] = []
  let wake: (() => void) | undefined
  let isOpen = false
  const writer: SinkWriter<T> = {
    open: async () => {},
    write: (value) => void written.push(value),
    ready: () => isOpen,
    whenReady: () => (isOpen ? Promise.resolve() : new Promise((resolve) => (wake = resolve))),
    prepareCommit: async () => [],
    commit: async () => {},
    close: async () => {},
  }
  const open = (): void => {
    isOpen = true
    wake?.()
  }
  return { sink: { guarantee: 'none', createWriter: () => writer }, written, open }
}

function rawSource(
  topic: string,
  options: Partial<RawKafkaSourceOptions> = {},
): KafkaSource<string> {
  return new KafkaSource({
    ...client(),
    topic,
    ...options,
    deserialize: deserializeValue(stringSerializer),
  })
}

/** Starts a job in this thread; it is canceled when the test ends. */
function startLocal(
  build: (env: StreamExecutionEnvironment) => void,
  configuration: Record<string, string> = {},
  parallelism = 1,
): JobExecution {
  const env = new StreamExecutionEnvironment({ parallelism, maxParallelism: 64 })
  build(env)
  const cluster = new MiniCluster({ configuration })
  onTestFinished(() => cluster.close())
  const job = cluster.startLocal(env.graph('kafka'))
  job.result.catch(() => {})
  return job
}

describe('event time of a job from Kafka', () => {
  it('continues without an idle partition, and waits for it again when it has records', async () => {
    const topic = await newTopic(client(), { partitions: 2 })
    const counted = new MemorySink<string>()
    const watermarks = monotonousTimestamps<string>({ idleAfterMs: 3_000 })
    startLocal((env) =>
      env
        .fromSource(rawSource(topic), watermarks, 'values')
        .keyBy(() => 'all')
        .window(tumblingEventTimeWindows(100))
        .process<string>(() => ({
          process: (_key, { window }, values, out) =>
            out.collect(`${window.start}: ${[...values].join()}`),
        }))
        .sinkTo(counted),
    )
    const send = (values: readonly string[], partition: number, at: number): Promise<void> =>
      produce(
        client(),
        topic,
        values.map((value) => `k=${value}`),
        {},
        partition,
        at,
      )
    await send(['a'], 0, 10)
    await send(['b'], 0, 250)
    await expect.poll(() => counted.values).toEqual(['0: a'])
    // Records before the watermark are late, later ones are not, although the partition was idle.
    await send(['late'], 1, 20)
    await send(['c'], 1, 260)
    await send(['d'], 0, 1_000)
    await send(['e'], 1, 290)
    await send(['f'], 1, 1_200)
    const held = ['0: a', '200: b,c,e']
    await expect.poll(() => counted.values).toEqual(held)
  })
})

describe('a running job from Kafka', () => {
  it('reads partitions that are added, and its group shows Java its progress', async () => {
    const topic = await newTopic(client(), { partitions: 1 })
    const folder = temporaryFolder()
    const seen = new MemorySink<string>()
    const groupId = `group-${topic}`
    startLocal(
      (env) =>
        env
          .fromSource(rawSource(topic, { groupId, discoveryIntervalMs: 200 }), noWatermarks())
          .sinkTo(seen),
      configurationIn(folder, 1),
    )
    await produce(client(), topic, ['k=old'])
    await broker.tool('org.apache.kafka.tools.TopicCommand', [
      ...['--alter', '--topic', topic, '--partitions', '2'],
    ])
    await produce(client(), topic, ['k=new', 'k=newer'], {}, 1)
    await expect.poll(() => [...seen.values].sort()).toEqual(['new', 'newer', 'old'])
    const caughtUp = new Map([
      [0, 0],
      [1, 0],
    ])
    await expect.poll(() => groupLag(broker, groupId)).toEqual(caughtUp)
  })

  it('continues when its group rejects the commit, and counts that', async () => {
    const topic = await newTopic(client(), { partitions: 1 })
    const groupId = `group-${topic}`
    await using _member = await joinGroup(broker.bootstrap, groupId, topic)
    const seen = new MemorySink<string>('exactly-once')
    const job = startLocal(
      (env) =>
        env
          .fromSource(rawSource(topic, { groupId }), noWatermarks<string>(), 'values')
          .uid('values')
          .sinkTo(seen),
      configurationIn(temporaryFolder(), 1),
    )
    await produce(client(), topic, ['k=1', 'k=2'])
    const failed = async (): Promise<number> => (await job.metrics())['values.0.commitsFailed'] ?? 0
    await expect.poll(failed).toBeGreaterThan(0)
    await expect.poll(() => seen.values).toEqual(['1', '2'])
    expect(job.status).toBe('RUNNING')
  })

  it('stops fetching while its sink is slow, and loses nothing', async () => {
    const topic = await newTopic(client(), { partitions: 2 })
    const count = 4_000
    const lines = Array.from({ length: count }, (_, i) => `k${i}=${i} ${'y'.repeat(2_000)}`)
    await produce(client(), topic, lines, { batchBytes: 20_000 })
    const { sink, written, open } = gatedSink<string>()
    const limits = { prefetchBytes: 100_000, partitionMaxBytes: 50_000 }
    const job = startLocal((env) =>
      env
        .fromSource(rawSource(topic, limits), noWatermarks<string>(), 'values')
        .uid('values')
        .sinkTo(sink),
    )
    const held = async (): Promise<number> => (await job.metrics())['values.0.prefetchedBytes'] ?? 0
    await expect.poll(held).toBeGreaterThan(100_000)
    for (let i = 0; i < 10; i++) {
      // Two partitions, each with a full buffer and one more answer.
      expect(await held()).toBeLessThanOrEqual(2 * (100_000 + 50_000 + 20_000))
      await pause(50, 'shows that no more is fetched')
    }
    expect(written).toHaveLength(0)
    open()
    await expect.poll(() => written.length).toBe(count)
    expect(new Set(written).size).toBe(count)
  })
})

/** The count of every key, and the slots that processed it. */
function countsBy(
  topic: string,
  parallelism: number,
): { readonly job: JobExecution; readonly counts: MemorySink<string> } {
  const counts = new MemorySink<string>()
  const source = rawSource(topic, { bounded: true, assignment: 'key-groups' })
  const job = startLocal(
    (env) =>
      env
        .fromSource(source, noWatermarks<string>(), 'values')
        .reinterpretAsKeyedStream((value) => value)
        .reduce((value) => value)
        .sinkTo(counts),
    { 'restart-strategy.type': 'none' },
    parallelism,
  )
  return { job, counts }
}

/** A reader of the topic that has no splits yet; closed when the test ends. */
async function emptyReader(topic: string) {
  const reader = rawSource(topic).createReader()
  onTestFinished(() => reader.close())
  await reader.open(readerContext())
  return reader
}

describe('the offsets of a checkpoint', () => {
  it('are used neither in another topic nor in one that was deleted and created again', async () => {
    const [topic, other] = [await newTopic(client()), await newTopic(client())]
    await produce(client(), topic, ['k=old'])
    const reader = await openReader(rawSource(topic))
    expect(await drain(reader, 1)).toEqual(['old'])
    const checkpoint = reader.snapshot()
    const refused = (message: RegExp) => ({
      code: 'TOPIC_CHANGED',
      message: expect.stringMatching(message),
    })
    await expect((await emptyReader(other)).addSplits(checkpoint)).rejects.toMatchObject(
      refused(new RegExp(`offsets of topic "${topic}" .*, and the job reads topic "${other}"`)),
    )
    // A checkpoint of an earlier build has the bare id.
    const bare = checkpoint.map((split) => ({ ...split, origin: JSON.parse(split.origin!).id }))
    await (await emptyReader(topic)).addSplits(bare)
    await expect((await emptyReader(other)).addSplits(bare)).rejects.toMatchObject(
      refused(/it is another topic, or it was deleted and created again/),
    )
    const idOf = async () => (await openCluster(client()).topic(topic)).topicId
    const deleted = await idOf()
    await deleteKafkaTopic(openCluster(client()), topic)
    await createKafkaTopic(openCluster(client()), { name: topic, partitions: 1 })
    // The controller answers before the broker has the topic in its metadata, which still has the deleted one.
    await until(
      'the broker knows the new topic',
      async () => (await idOf().catch(() => deleted)) !== deleted,
    )
    await expect((await emptyReader(topic)).addSplits(checkpoint)).rejects.toMatchObject(
      refused(/was deleted and created again; its id was .* another uid/),
    )
  })
})

describe('a topic partitioned by key groups', () => {
  const keys = Array.from({ length: 300 }, (_, i) => `key-${i}=key-${i}`)

  it('is keyed without an exchange between slots', async () => {
    const topic = await newTopic(client(), { partitions: 4 })
    await produce(client(), topic, keys, { partitioner: { keyGroups: 64 } })
    const { job, counts } = countsBy(topic, 2)
    await job.result
    expect(new Set(counts.values).size).toBe(keys.length)
  })

  it('is required: another topic, and a parallelism that does not fit, are rejected with advice', async () => {
    const topic = await newTopic(client(), { partitions: 4 })
    await produce(client(), topic, keys)
    await expect(countsBy(topic, 2).job.result).rejects.toThrow(/call keyBy instead/)
    await expect(countsBy(topic, 3).job.result).rejects.toThrow(/cannot be read by key groups/)
  })
})
