import { join } from 'node:path'
import { KafkaCluster } from '../../src/connectors/kafka/client/cluster.ts'
import { createKafkaTopic } from '../../src/connectors/kafka/client/topics.ts'
import type { DeliveryGuarantee } from '../../src/operators/port/sink.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { KafkaBroker } from '../../test/services/kafka/broker.ts'
import type { Benchmark, BenchmarkOptions } from '../harness/benchmark.ts'
import { median, rounded } from '../load/statistics.ts'
import { fillTopic, ratingOf } from './topics.ts'

const RECORDS = 4_000_000
const ROUNDS = 5
const PARTITIONS = 4
const TOPIC = 'values'

async function newOutput(broker: KafkaBroker, name: string): Promise<void> {
  const cluster = new KafkaCluster({ brokers: broker.bootstrap })
  await createKafkaTopic(cluster, { name, partitions: PARTITIONS })
  await cluster.close()
}

interface Copy {
  readonly guarantee: DeliveryGuarantee
  readonly output: string
  readonly records: number
  readonly scratch: string
}

/** Records a second from topic to topic, from RUNNING until all output is visible. */
async function copyRate(
  broker: KafkaBroker,
  { guarantee, output, records, scratch }: Copy,
): Promise<number> {
  await newOutput(broker, output)
  await using cluster = new MiniCluster()
  const options = { kind: 'copy', brokers: broker.bootstrap, topic: TOPIC, output, guarantee }
  const job = await cluster.startWorkers(new URL('./jobs.ts', import.meta.url), options, {
    configuration: {
      'parallelism.default': '2',
      'execution.checkpointing.interval': '1 s',
      'execution.checkpointing.dir': join(scratch, output),
    },
  })
  await job.waitFor('RUNNING')
  const start = performance.now()
  await job.result
  return records / ((performance.now() - start) / 1000)
}

async function measure(broker: KafkaBroker, { scale, say, scratch }: BenchmarkOptions) {
  const records = Math.round(RECORDS * scale)
  await fillTopic(broker, { topic: TOPIC, partitions: PARTITIONS, records, make: ratingOf })
  const atLeastOnce: number[] = []
  const exactlyOnce: number[] = []
  for (let i = 0; i <= ROUNDS; i++) {
    const copied = (guarantee: DeliveryGuarantee): Promise<number> =>
      copyRate(broker, { guarantee, output: `${guarantee}-${i}`, records, scratch })
    const once = await copied('exactly-once')
    const least = await copied('at-least-once')
    say(`round ${i}: exactly-once ${rounded(once)}, at-least-once ${rounded(least)} records/s`)
    // The first round also compiles code.
    if (i === 0) continue
    exactlyOnce.push(once)
    atLeastOnce.push(least)
  }
  return { records, atLeastOnce, exactlyOnce }
}

/** `kafka-exactly-once`: from topic to topic with exactly-once, beside at-least-once. */
export const kafkaExactlyOnceBenchmark: Benchmark = {
  name: 'kafka-exactly-once',
  summary: 'topic to topic of a real Kafka, exactly-once beside at-least-once, 1 s checkpoints',
  async run(options) {
    await options.workspace.stopServing()
    await using broker = await KafkaBroker.start()
    const { records, atLeastOnce, exactlyOnce } = await measure(broker, options)
    return [
      {
        name: 'kafka-exactly-once',
        value: median(exactlyOnce),
        unit: 'records/s',
        rival: median(atLeastOnce),
        rivalName: 'at-least-once',
        targetRatio: 0.85,
        details: { records, rounds: ROUNDS, partitions: PARTITIONS },
      },
    ]
  },
}
