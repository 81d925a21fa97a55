import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { KafkaSink } from '../../../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../../../src/connectors/kafka/source.ts'
import { deserializeValue } from '../../../../src/connectors/records/value-deserializer.ts'
import { openTopics } from '../../../../src/connectors/topics/open.ts'
import { systemClock } from '../../../../src/core/clock.ts'
import { stringSerializer } from '../../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../../../src/dataflow/watermark-strategy.ts'
import { TopicAppender } from '../../../../src/gateway/observations/topic-appender.ts'
import { MiniCluster } from '../../../../src/testing/mini-cluster.ts'
import { until } from '../../../run/until.ts'
import { KafkaBroker } from '../../../services/kafka/broker.ts'
import { REPOSITORY, weir } from '../../cli/command-process.ts'
import { bytes, newTopic, produce, readLines } from '../fixture.ts'

/** Each test stops it and starts it again. */
let broker: KafkaBroker

beforeAll(async () => {
  broker = await KafkaBroker.start({ startsQuickly: true })
})

afterAll(() => broker?.stop())

const source = (path: string): string => pathToFileURL(join(REPOSITORY, 'src', path)).href

/** A job that reads a topic of Kafka and drops the records. */
const JOB = `import { defineJob, noWatermarks } from '${source('index.ts')}'
import { KafkaSource } from '${source('connectors/kafka/index.ts')}'
export default defineJob({
  name: 'reader',
  options: {
    brokers: { type: 'string', help: 'brokers' },
    topic: { type: 'string', help: 'topic' },
  },
  build: (env, { brokers, topic }) => {
    env
      .fromSource(new KafkaSource({ brokers, topic, deserialize: () => 1 }), noWatermarks(), 'clicks')
      .uid('clicks')
      .filter(() => false)
      .print()
  },
})
`

it('weir run is not ready while its broker is away, says why over REST, and lives and is ready again when it is back', async () => {
  const topic = await newTopic({ brokers: broker.bootstrap })
  const folder = mkdtempSync(join(tmpdir(), 'weir-readiness-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const module = join(folder, 'reader.ts')
  writeFileSync(module, JOB)
  await using job = weir([
    ...['run', module, '--data-dir', join(folder, 'data'), '--port', '0'],
    ...['--option', `brokers=${broker.bootstrap}`, '--option', `topic=${topic}`],
    ...['-D', 'rest.port=0'],
  ])
  const [, url = ''] = await job.printed(/REST interface on (http:\S+)/)
  const get = async (path: string): Promise<[number, Record<string, unknown>]> => {
    const answer = await fetch(`${url}${path}`)
    return [answer.status, (await answer.json()) as Record<string, unknown>]
  }
  const ready = { ready: true, waiting: [] }
  await until('it is ready', async () => (await get('/v1/health/ready'))[0] === 200)
  expect(await get('/v1/health/ready')).toEqual([200, ready])

  const killedMs = Date.now()
  await broker.stopNode('SIGKILL')
  await until('it is not ready', async () => (await get('/v1/health/ready'))[0] === 503)
  // Promised within 5 s, and a fetch alone waits for minutes; on a busy machine the processes need time of their own.
  expect(Date.now() - killedMs).toBeLessThan(60_000)
  // A probe shows no token, and learns no address.
  expect(await get('/health/ready')).toEqual([
    503,
    { ready: false, waiting: [expect.stringMatching(/^clicks waits for Kafka, for \d+ s$/)] },
  ])
  expect(await get('/v1/health/live')).toEqual([200, { live: true }])
  const [, overview] = await get('/jobs/overview')
  const waiting = [
    expect.stringMatching(
      new RegExp(`^clicks waits for Kafka, for \\d+ s: .*${broker.bootstrap}.*ECONNREFUSED`),
    ),
  ]
  expect(overview).toMatchObject({ jobs: [{ state: 'RUNNING', waiting }] })
  const { jid } = (overview['jobs'] as { jid: string }[])[0]!
  expect((await get(`/jobs/${jid}`))[1]).toMatchObject({ state: 'RUNNING', waiting })

  await broker.startNode()
  await until('it is ready again', async () => (await get('/v1/health/ready'))[0] === 200)
  expect(await get('/v1/health/ready')).toEqual([200, ready])
  job.signal('SIGTERM')
  await job.ended
})

it('observations of a gateway whose broker is away end at their deadline, its probe knows it, and both work when it is back', async () => {
  const kafka = { brokers: broker.bootstrap }
  const topic = await newTopic(kafka, { partitions: 2 })
  await using topics = await openTopics({ kafka })
  await using appender = new TopicAppender(topics, topic, systemClock)
  const rating = { user: '1', item: '50', rating: 4, timestamp: -1 }
  const [before] = await appender.append([rating], 30_000)
  expect(before).toMatchObject({ offset: 0 })
  await appender.reachable(30_000)

  await broker.stopNode('SIGKILL')
  const late = { code: 'DEADLINE_EXCEEDED' }
  const begunMs = Date.now()
  await expect(appender.append([rating], 2_000)).rejects.toMatchObject(late)
  expect(Date.now() - begunMs).toBeLessThan(60_000)
  await expect(appender.reachable(500)).rejects.toMatchObject(late)

  await broker.startNode()
  await until('the topic can be reached', async () => {
    const look = appender.reachable(2_000)
    return await look.then(
      () => true,
      () => false,
    )
  })
  const [after] = await appender.append([rating], 60_000)
  // The one whose deadline was over is stored, too: a client learns that this is not known.
  expect(after).toEqual({ partition: before!.partition, offset: 2 })
})

describe('a running job whose broker stops', () => {
  it('says after 3 s for what it waits and shows for how long, goes on when the broker is back, and says that', async () => {
    const client = { brokers: broker.bootstrap }
    const input = await newTopic(client)
    const output = await newTopic(client)
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    const deserialize = deserializeValue(stringSerializer)
    env
      .fromSource(new KafkaSource({ ...client, topic: input, deserialize }), noWatermarks(), 'in')
      .uid('in')
      .sinkTo(
        new KafkaSink<string>({
          ...{ ...client, topic: output },
          serialize: (value, record) => {
            record.value = bytes(value)
          },
        }),
      )
      .uid('out')
    await using cluster = new MiniCluster()
    const job = cluster.startLocal(env.graph('stops'))
    job.result.catch(() => undefined)
    const said: string[] = []
    job.onWarning(({ error }) => said.push(error.message))
    await job.waitFor('RUNNING')
    await produce(client, input, ['k=a'])
    await until(
      'the first record is copied',
      async () => (await readLines({ ...client, topic: output })).length === 1,
    )
    const outageMs = async (): Promise<number> => {
      const metrics = Object.entries(await job.metrics())
      const outages = metrics.filter(([name]) => name.endsWith('brokerOutageMs'))
      expect(outages).toHaveLength(2)
      return Math.max(...outages.map(([, value]) => Number(value)))
    }
    expect(await outageMs()).toBe(0)
    await broker.stopNode('SIGKILL')
    await until('the job says what it waits for', () => said.length > 0)
    expect(said[0]).toMatch(
      /^(source in|operator out): waiting for Kafka since .* for 3 s or more: .*ECONNREFUSED/,
    )
    expect(await outageMs()).toBeGreaterThan(2_000)
    expect(job.waits[0]).toMatchObject({
      operator: expect.stringMatching(/^(in|out)$/),
      waitsFor: 'Kafka',
      why: expect.stringContaining('ECONNREFUSED'),
    })
    await broker.startNode()
    await until('the job says that it goes on', () => said.at(-1)!.includes('can be reached again'))
    await produce(client, input, ['k=b'])
    await until(
      'the second record is copied',
      async () => (await readLines({ ...client, topic: output })).length === 2,
    )
    expect(await outageMs()).toBe(0)
    await until('the job waits for nothing', () => job.waits.length === 0)
    expect(job.attempt).toBe(1)
    await job.cancel()
  })
})
