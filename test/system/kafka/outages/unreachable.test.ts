import { describe, expect, it } from 'vitest'
import { KafkaSink } from '../../../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../../../src/connectors/kafka/source.ts'
import { deserializeValue } from '../../../../src/connectors/records/value-deserializer.ts'
import { stringSerializer } from '../../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../../../src/dataflow/watermark-strategy.ts'
import { MiniCluster } from '../../../../src/testing/mini-cluster.ts'
import { until } from '../../../run/until.ts'
import { freePorts } from '../../../services/free-port.ts'
import { KafkaBroker } from '../../../services/kafka/broker.ts'
import { bytes, newTopic, produce, readLines } from '../fixture.ts'

describe('a job whose brokers cannot be reached', () => {
  it.each(['source', 'sink'] as const)(
    'says after 3 s for what it waits, with the address and the cause: its %s',
    async (role) => {
      const [port] = await freePorts(1)
      const brokers = `127.0.0.1:${port}`
      const env = new StreamExecutionEnvironment({ parallelism: 1 })
      if (role === 'source') {
        const deserialize = deserializeValue(stringSerializer)
        env
          .fromSource(
            new KafkaSource({ brokers, topic: 'clicks', deserialize }),
            noWatermarks(),
            'in',
          )
          .uid('in')
          .print()
          .uid('print')
      } else {
        env
          .fromElements(['a'])
          .uid('elements')
          .sinkTo(new KafkaSink<string>({ brokers, topic: 'clicks', serialize: () => {} }))
          .uid('out')
      }
      await using cluster = new MiniCluster()
      const job = cluster.startLocal(env.graph('unreachable'))
      job.result.catch(() => undefined)
      const said: string[] = []
      job.onWarning(({ error }) => said.push(error.message))
      await until('the job says what it waits for', () => said.length > 0)
      expect(said[0]).toMatch(
        new RegExp(`waiting for Kafka since .* for 3 s or more: .*${brokers}.*ECONNREFUSED`),
      )
      expect(said[0]).toContain(role === 'source' ? 'source in' : 'operator out')
      await job.cancel()
    },
  )
})

describe('a running job whose broker stops', () => {
  it('says after 3 s for what it waits and shows for how long, goes on when the broker is back, and says that', async () => {
    await using broker = await KafkaBroker.start({ startsQuickly: true })
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
