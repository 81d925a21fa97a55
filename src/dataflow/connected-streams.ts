import type { Serializer } from '../core/serializer.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import { CoProcessOperator } from '../operators/process/co-process.ts'
import type { CoProcessFunction, KeyedCoProcessFunction } from '../operators/process/function.ts'
import { KeyedCoProcessOperator } from '../operators/process/keyed-co-process.ts'
import type { DataStream } from './data-stream.ts'
import { hashed, type StreamOrigin } from './graph-draft.ts'
import { type PlainKey, plainKeySerializer } from './key-serializer.ts'
import { inspectFunction, type TransformOptions, transformSpec } from './node-spec.ts'
import type { StreamFactory } from './stream-factory.ts'

/** The two inputs of connected streams. */
export type ConnectedInputs = readonly [readonly StreamOrigin[], readonly StreamOrigin[]]

/** Two streams of different types that one function reads. */
export class ConnectedStreams<A, B> {
  private readonly factory: StreamFactory
  private readonly inputs: ConnectedInputs

  constructor(factory: StreamFactory, inputs: ConnectedInputs) {
    this.factory = factory
    this.inputs = inputs
  }

  /** Keys both streams: one subtask reads the records of a key of both, with one state. */
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
    const inputs: ConnectedInputs = [
      hashed(a, { selector: selectA, serializer }),
      hashed(b, { selector: selectB, serializer }),
    ]
    return new KeyedConnectedStreams(this.factory, inputs, serializer)
  }

  /** Runs a function that the user wrote; `create` makes one for every subtask. */
  process<OUT>(create: () => CoProcessFunction<A, B, OUT>): DataStream<OUT> {
    return this.factory.add(
      {
        name: 'CoProcess',
        inputs: 2,
        ...inspectFunction(create),
        body: () => ({ kind: 'operator', create: () => new CoProcessOperator(create()) }),
      },
      this.inputs,
    )
  }

  /** Runs a two-input operator that the user wrote; `create` makes one for every subtask. */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    return this.factory.add(transformSpec({ name, inputs: 2, create, options }), this.inputs)
  }
}

/** Two streams with the same type of key, which one function reads with one state per key. */
export class KeyedConnectedStreams<K, A, B> {
  private readonly factory: StreamFactory
  private readonly inputs: ConnectedInputs
  private readonly keySerializer: Serializer<K>

  constructor(factory: StreamFactory, inputs: ConnectedInputs, keySerializer: Serializer<K>) {
    this.factory = factory
    this.inputs = inputs
    this.keySerializer = keySerializer
  }

  /** Runs a function that the user wrote; `create` makes one for every subtask. */
  process<OUT>(create: () => KeyedCoProcessFunction<K, A, B, OUT>): DataStream<OUT> {
    const keys = this.keySerializer
    return this.factory.add(
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
  }

  /** Runs a two-input operator that the user wrote, with the key of each record selected. */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    return this.factory.add(transformSpec({ name, inputs: 2, create, options }), this.inputs)
  }
}
