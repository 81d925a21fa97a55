import type { Serializer } from '../core/serializer.ts'
import { KeyedProcessOperator } from '../operators/keyed-process-operator.ts'
import type { StreamOperator } from '../operators/operator.ts'
import type { KeyedProcessFunction } from '../operators/process-function.ts'
import type { Sink } from '../operators/sink.ts'
import { DataStream, streamOf, type TransformOptions } from './data-stream.ts'
import type { DataStreamSink } from './data-stream-sink.ts'
import { inspectFunction } from './function-spec.ts'
import type { GraphDraft, StreamOrigin } from './graph-draft.ts'

/** A stream grouped by key: every record of a key goes to the same subtask. */
export class KeyedStream<K, T> {
  /** Key bytes of a record's key. */
  readonly keySerializer: Serializer<K>
  private readonly draft: GraphDraft
  private readonly origins: readonly StreamOrigin[]

  constructor(
    draft: GraphDraft,
    origins: readonly StreamOrigin[],
    selector: (value: T) => K,
    keySerializer: Serializer<K>,
  ) {
    this.draft = draft
    this.keySerializer = keySerializer
    const partitioning = {
      kind: 'hash',
      keySelector: selector as (value: unknown) => unknown,
      keySerializer: keySerializer as Serializer<unknown>,
    } as const
    this.origins = origins.map((origin) => ({ ...origin, partitioning }))
  }

  /** Runs a function with state and timers per key; the factory makes one for every subtask. */
  process<OUT>(create: () => KeyedProcessFunction<K, T, OUT>): DataStream<OUT> {
    const keys = this.keySerializer
    const node = this.draft.addNode(
      {
        name: 'KeyedProcess',
        inputs: 1,
        needsKey: true,
        ...inspectFunction(create),
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () => new KeyedProcessOperator(create(), keys, eventTime),
        }),
      },
      [this.origins],
    )
    return streamOf<OUT>(this.draft, node)
  }

  /** Runs an operator of one's own that finds the record's key selected in its keyed state. */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    return new DataStream<T>(this.draft, this.origins).transform(name, create, options)
  }

  /** Writes the stream to a sink, records of a key in order through one writer. */
  sinkTo(sink: Sink<T>): DataStreamSink {
    return new DataStream<T>(this.draft, this.origins).sinkTo(sink)
  }
}
