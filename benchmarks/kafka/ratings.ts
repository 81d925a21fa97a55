import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import { systemClock } from '../../src/core/clock.ts'
import { MetricGroup } from '../../src/core/metrics.ts'
import { KafkaBroker } from '../../test/services/kafka/broker.ts'
import type { Benchmark, BenchmarkOptions } from '../harness/benchmark.ts'
import { median, rounded } from '../load/statistics.ts'
import { runKafkaJob } from './run.ts'
import { fillTopic, javaConsumerRate, ratingOf } from './topics.ts'

const RECORDS = 8_000_000
const ROUNDS = 3
const PARTITIONS = 4
const TOPIC = 'ratings'

/** Records a second of a reader alone, which discards them. */
async function discardingRate(brokers: string, records: number): Promise<number> {
  const source = new KafkaSource<true>({
    brokers,
    topic: TOPIC,
    bounded: true,
    deserialize: () => true,
  })
  const reader = source.createReader()
  const metrics = new MetricGroup()
  await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
  const partitions = await source.discover()
  const start = performance.now()
  await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
  let count = 0
  const output = { collect: () => void count++, progress: () => undefined }
  for (;;) {
    const found = reader.poll(output, 10_000)
    if (found === 'ended') break
    if (found === 'idle') await reader.available()
    // The event loop reads the broker's answers from the sockets between polls.
    else await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const seconds = (performance.now() - start) / 1000
  await reader.close()
  if (count !== records) throw new Error(`${count} of ${records} records were read`)
  return records / seconds
}

async function measure(broker: KafkaBroker, { scale, say, scratch }: BenchmarkOptions) {
  const records = Math.round(RECORDS * scale)
  await fillTopic(broker, { topic: TOPIC, partitions: PARTITIONS, records, make: ratingOf })
  say(`filled with ${records} ratings`)
  const source: number[] = []
  const java: number[] = []
  const job: number[] = []
  const jobCpu: number[] = []
  const options = { kind: 'ratings', brokers: broker.bootstrap, topic: TOPIC } as const
  for (let i = 0; i < ROUNDS; i++) {
    source.push(await discardingRate(broker.bootstrap, records))
    java.push(await javaConsumerRate(broker, TOPIC, records))
    const { applied, cpu } = await runKafkaJob({ scratch, options, records })
    job.push(records / applied)
    jobCpu.push((cpu * 1e6) / records)
    say(
      `round ${i + 1}: source ${rounded(source[i]!)}, Java ${rounded(java[i]!)}, into state ${rounded(job[i]!)} records/s`,
    )
  }
  return { records, source, java, job, jobCpu }
}

/** `kafka-ratings`: 30-byte ratings from Kafka into keyed state, and the source alone. */
export const kafkaRatingsBenchmark: Benchmark = {
  name: 'kafka-ratings',
  summary: '30-byte ratings from a real Kafka into keyed state on 2 slots; the source beside Java',
  async run(options) {
    await options.workspace.stopServing()
    await using broker = await KafkaBroker.start()
    const { records, source, java, job, jobCpu } = await measure(broker, options)
    const details = { records, rounds: ROUNDS, partitions: PARTITIONS }
    return [
      {
        name: 'kafka-ratings',
        value: median(job),
        unit: 'records/s',
        target: 600_000,
        details: { ...details, cpuMicrosPerRecord: rounded(median(jobCpu)) },
      },
      {
        name: 'kafka-source-discarding',
        value: median(source),
        unit: 'records/s',
        rival: median(java),
        rivalName: "Java's kafka-consumer-perf-test, its fetch time",
        targetRatio: 1,
        details,
      },
    ]
  },
}
