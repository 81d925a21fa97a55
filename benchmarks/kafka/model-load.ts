import { KafkaBroker } from '../../test/services/kafka/broker.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { median, rounded } from '../load/statistics.ts'
import { type KafkaRun, runKafkaJob } from './run.ts'
import { fillTopic } from './topics.ts'

const ROWS = 2_500_000
const DIMENSION = 100
const ROUNDS = 3
const PARTITIONS = 4
const TOPIC = 'rows'

/** Makes row `index` with the key `<index>-U`. */
function rowMaker(): (index: number) => { key: Uint8Array; value: Uint8Array } {
  const encoder = new TextEncoder()
  const floats = new Float32Array(DIMENSION)
  const value = new Uint8Array(floats.buffer)
  return (index) => {
    for (let i = 0; i < DIMENSION; i++) floats[i] = ((index + i) % 1000) / 1000
    return { key: encoder.encode(`${index}-U`), value }
  }
}

/** `kafka-model-load`: model rows of 100 factors, raw float32, from Kafka into checkpointed state. */
export const kafkaModelLoadBenchmark: Benchmark = {
  name: 'kafka-model-load',
  summary: 'model rows of 100 factors from a real Kafka into checkpointed state on 2 slots',
  async run({ scale, say, scratch, workspace }) {
    await workspace.stopServing()
    await using broker = await KafkaBroker.start()
    const rows = Math.round(ROWS * scale)
    await fillTopic(broker, {
      topic: TOPIC,
      partitions: PARTITIONS,
      records: rows,
      make: rowMaker(),
    })
    say(`filled with ${rows} rows`)
    const runs: KafkaRun[] = []
    const options = {
      kind: 'model',
      brokers: broker.bootstrap,
      topic: TOPIC,
      dimension: DIMENSION,
    } as const
    for (let i = 0; i < ROUNDS; i++) {
      const run = await runKafkaJob({
        ...{ scratch, options, records: rows },
        configuration: {
          'state.backend.memory.budget': '8 gb',
          'execution.checkpointing.interval': '2 s',
        },
      })
      runs.push(run)
      say(
        `round ${i + 1}: applied after ${run.applied.toFixed(2)} s, in a checkpoint after ${run.durable.toFixed(2)} s`,
      )
    }
    return [
      {
        name: 'kafka-model-load',
        value: median(runs.map(({ durable }) => rows / durable)),
        unit: 'rows/s',
        target: 200_000,
        details: {
          rows,
          rounds: ROUNDS,
          partitions: PARTITIONS,
          cpuMicrosPerRow: rounded(median(runs.map(({ cpu }) => (cpu * 1e6) / rows))),
          untilApplied: rounded(median(runs.map(({ applied }) => rows / applied))),
        },
      },
    ]
  },
}
