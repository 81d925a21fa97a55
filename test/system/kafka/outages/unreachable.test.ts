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
