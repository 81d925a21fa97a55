import type { Serializer } from '../core/serializer.ts'
import { CoProcessOperator } from '../operators/co-process-operator.ts'
import { KeyedCoProcessOperator } from '../operators/keyed-co-process-operator.ts'
import type { StreamOperator } from '../operators/operator.ts'
import type { CoProcessFunction, KeyedCoProcessFunction } from '../operators/process-function.ts'
import { type DataStream, streamOf, type TransformOptions, transformSpec } from './data-stream.ts'
import { inspectFunction } from './function-spec.ts'
import { type GraphDraft, hashed, type StreamOrigin } from './graph-draft.ts'
import { type PlainKey, plainKeySerializer } from './key-serializer.ts'

/** The two inputs of connected streams. */
export type ConnectedInputs = readonly [readonly StreamOrigin[], readonly StreamOrigin[]]

/** Two streams of different types that one function reads. */
export class ConnectedStreams<A, B> {
  private readonly draft: GraphDraft
  private readonly inputs: ConnectedInputs

  constructor(draft: GraphDraft, inputs: ConnectedInputs) {
    this.draft = draft
    this.inputs = inputs
  }

  /** Keys both streams: records of equal keys meet in one subtask and see the same state. */
  keyBy<K extends PlainKey>(
    selectA: (value: A) => K,
    selectB: (value: B) => K,
    serializer?: Serializer<K>,
  ): KeyedConnectedStreams<K, A, B>
  keyBy<K>(
    selectA: (value: A) => K,
    selectB: (value: B) => K,
    serializer: Serializer<K>,
  ): KeyedConnectedStreams<K, A, B>
  keyBy<K>(
    selectA: (value: A) => K,
    selectB: (value: B) => K,
    serializer: Serializer<K> = plainKeySerializer() as Serializer<unknown> as Serializer<K>,
  ): KeyedConnectedStreams<K, A, B> {
    const [a, b] = this.inputs
    const inputs: ConnectedInputs = [hashed(a, selectA, serializer), hashed(b, selectB, serializer)]
    return new KeyedConnectedStreams(this.draft, inputs, serializer)
  }

  /** Runs a function of one's own; the factory makes one for every subtask. */
  process<OUT>(create: () => CoProcessFunction<A, B, OUT>): DataStream<OUT> {
    const node = this.draft.addNode(
      {
        name: 'CoProcess',
        inputs: 2,
        ...inspectFunction(create),
        body: () => ({ kind: 'operator', create: () => new CoProcessOperator(create()) }),
      },
      this.inputs,
    )
    return streamOf<OUT>(this.draft, node)
  }

  /** Runs a two-input operator of one's own; the factory makes one for every subtask. */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    const node = this.draft.addNode(transformSpec(name, 2, create, options), this.inputs)
    return streamOf<OUT>(this.draft, node)
  }
}

/** Two streams keyed alike: one function sees both, with the same state of a key. */
export class KeyedConnectedStreams<K, A, B> {
  private readonly draft: GraphDraft
  private readonly inputs: ConnectedInputs
  private readonly keySerializer: Serializer<K>

  constructor(draft: GraphDraft, inputs: ConnectedInputs, keySerializer: Serializer<K>) {
    this.draft = draft
    this.inputs = inputs
    this.keySerializer = keySerializer
  }

  /** Runs a function of one's own; the factory makes one for every subtask. */
  process<OUT>(create: () => KeyedCoProcessFunction<K, A, B, OUT>): DataStream<OUT> {
    const keys = this.keySerializer
    const node = this.draft.addNode(
      {
        name: 'KeyedCoProcess',
        inputs: 2,
        needsKey: true,
        ...inspectFunction(create),
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () => new KeyedCoProcessOperator<K, A, B, OUT>(create(), keys, eventTime),
        }),
      },
      this.inputs,
    )
    return streamOf<OUT>(this.draft, node)
  }

  /** Runs a two-input operator of one's own that finds the record's key selected. */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    return new ConnectedStreams<A, B>(this.draft, this.inputs).transform(name, create, options)
  }
}
