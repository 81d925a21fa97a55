import { KafkaSink } from '../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import { deserializeValue } from '../../src/connectors/records/value-deserializer.ts'
import { serializeValue } from '../../src/connectors/records/value-serializer.ts'
import { csvFormat } from '../../src/core/formats/csv.ts'
import { jsonFormat } from '../../src/core/formats/json.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job/definition.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../src/operators/windows/assigner.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'
import { type Folded, fold, type Operation } from '../../test/recovery/fold/job.ts'

/** Size of a window of event time, ms. */
export const WINDOW_MS = 1_000
/** How much older than another one of its partition a record may be in event time, ms. */
export const DISORDER_MS = 2_000

/** An operation with its event time, ms: a CSV row `key,amount,time`. */
export interface TimedOperation extends Operation {
  readonly time: number
}

/** What a window has of a key. */
export interface Windowed {
  readonly key: string
  /** Start of the window, ms. */
  readonly start: number
  readonly count: number
  /** Sum of the amounts. */
  readonly sum: number
}

const operationFormat = csvFormat({
  columns: { key: 'string', amount: 'integer', time: 'integer' },
})

/** Folds operations by key, and adds them up in windows of event time. Writes each result of both exactly once. */
const scaledFold: JobDefinition<Record<string, string>> = defineJob<Record<string, string>>({
  name: 'scaled-fold',
  options: {
    brokers: { type: 'string', help: 'Kafka.' },
    input: { type: 'string', help: 'Topic of the operations.' },
    results: { type: 'string', help: 'Topic of the folds.' },
    windows: { type: 'string', help: 'Topic of the windows.' },
  },
  build(env, { brokers, input, results, windows }) {
    const operations = env
      .fromSource(
        new KafkaSource<TimedOperation>({
          brokers: brokers!,
          topic: input!,
          deserialize: deserializeValue(operationFormat),
        }),
        boundedOutOfOrderness<TimedOperation>(DISORDER_MS, { timestampOf: ({ time }) => time }),
        'operations',
      )
      .uid('operations')
    operations
      .keyBy(({ key }) => key)
      .process<Folded>(() => {
        let state: ValueState<Folded>
        return {
          open(context) {
            state = context.getState(valueState<Folded>('fold'))
          },
          processElement(operation, _context, out) {
            const next = fold(state.value(), operation)
            state.update(next)
            out.collect(next)
          },
        }
      })
      .uid('fold')
      .sinkTo(sinkOf<Folded>(brokers!, results!))
      .uid('results')
    operations
      .keyBy(({ key }) => key)
      .window(tumblingEventTimeWindows(WINDOW_MS))
      .aggregate<{ count: number; sum: number }, { count: number; sum: number }, Windowed>(
        {
          createAccumulator: () => ({ count: 0, sum: 0 }),
          add: ({ amount }, { count, sum }) => ({ count: count + 1, sum: sum + amount }),
          getResult: (added) => added,
          merge: (a, b) => ({ count: a.count + b.count, sum: a.sum + b.sum }),
        },
        () => ({
          process(key, context, [added], out) {
            out.collect({ key, start: context.window.start, ...added! })
          },
        }),
      )
      .uid('windows')
      .sinkTo(sinkOf<Windowed>(brokers!, windows!))
      .uid('window-results')
  },
})

function sinkOf<T extends { readonly key: string }>(brokers: string, topic: string): KafkaSink<T> {
  return new KafkaSink<T>({
    ...{ brokers, topic },
    guarantee: 'exactly-once',
    transactionTimeoutMs: 600_000,
    serialize: serializeValue(jsonFormat<T>(), { keyOf: ({ key }) => key }),
  })
}

export default scaledFold
