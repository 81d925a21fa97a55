import { LogSink } from '../../../src/connectors/log/sink.ts'
import { LogSource } from '../../../src/connectors/log/source.ts'
import { defineJob, type JobDefinition } from '../../../src/dataflow/job/definition.ts'
import { noWatermarks } from '../../../src/dataflow/watermark-strategy.ts'

/** Options of the job. */
export interface InferJobOptions extends Readonly<Record<string, unknown>> {
  /** Folder of a log with the topic `values`. */
  readonly input: string
  /** Folder of a log for the topic `answers`. */
  readonly output: string
}

/** One record of topic `answers`. */
export interface InferredValue {
  readonly value: number
  readonly answer: number
  readonly version: number
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()

const inferJob: JobDefinition<InferJobOptions> = defineJob<InferJobOptions>({
  name: 'infer-values',
  build(env, { input, output }) {
    const source = new LogSource<number>({
      directory: input,
      topic: 'values',
      deserialize: (record) => Number(decoder.decode(record.value()!)),
    })
    const sink = new LogSink<InferredValue>({
      directory: output,
      topic: 'answers',
      guarantee: 'exactly-once',
      serialize(answer, record) {
        record.value = encoder.encode(JSON.stringify(answer))
      },
    })
    env
      .fromSource(source, noWatermarks<number>(), 'values')
      .uid('values')
      .infer('multiply', {
        inputs: (value) => [{ name: 'x', shape: [1], data: Float32Array.of(value) }],
        result: (value, { outputs, modelVersion }): InferredValue => {
          const answer = (outputs[0]!.data as Float32Array)[0]!
          return { value, answer, version: modelVersion }
        },
        mode: 'unordered',
        capacity: 32,
      })
      .uid('multiply')
      .sinkTo(sink)
      .uid('answers')
  },
})

export default inferJob
