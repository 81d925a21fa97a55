import { type PlainKey, plainKeySerializer } from '../core/formats/plain-key-serializer.ts'
import { oneOf } from '../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import { CoFlatMapOperator, CoMapOperator } from '../operators/process/co-map.ts'
import { CoProcessOperator } from '../operators/process/co-process.ts'
import type {
  CoProcessFunction,
  FunctionContext,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
} from '../operators/process/function.ts'
import { KeyedCoProcessOperator } from '../operators/process/keyed-co-process.ts'
import type { CoFlatMapFunction, CoMapFunction } from '../operators/process/rich-function.ts'
import { requireFunction } from './checks/function-argument.ts'
import { sampleOf } from './checks/function-factory.ts'
import { FUNCTION_USES } from './checks/function-uses.ts'
import { requireSerializer } from './checks/object-argument.ts'
import type { DataStream } from './data-stream.ts'
import { hashed, type StreamOrigin } from './graph-draft.ts'
import { inspectFunction, type TransformOptions, transformSpec } from './node-spec.ts'
import type { StreamFactory } from './stream-factory.ts'

const PROCESS = { call: 'process', methods: ['processElement1', 'processElement2'] } as const

/** The two inputs of connected streams. */
export type ConnectedInputs = readonly [readonly StreamOrigin[], readonly StreamOrigin[]]

/** Options of a stream that is connected to another one. */
export interface ConnectOptions {
  /**
   * `loaded`: the other stream is a table. It is read to the end that its sources had when the attempt started, also after a
   * restore, and no record of this stream is read before; its watermarks do not count. The two must come from different
   * sources. `nothing`: each record is read when it comes, in no order between the streams. @default nothing, with a warning
   * where the other stream is a broadcast one
   */
  readonly wait?: 'loaded' | 'nothing'
}

const CONNECT: OptionShape<ConnectOptions> = { wait: oneOf('loaded', 'nothing') }

/** The outputs of the second input. Throws INVALID_ARGUMENT. */
export function secondInput(
  origins: readonly StreamOrigin[],
  options: ConnectOptions,
): readonly StreamOrigin[] {
  checkOptions('connect', CONNECT, options)
  if (options.wait === undefined) return origins
  const order = options.wait === 'loaded' ? 'first' : 'any'
  return origins.map((origin) => ({ ...origin, order }))
}

/** What two streams have with keys and without; `C` is the context with which functions are opened. */
abstract class TwoInputs<A, B, C extends FunctionContext> {
  protected readonly factory: StreamFactory
  protected readonly inputs: ConnectedInputs

  constructor(factory: StreamFactory, inputs: ConnectedInputs) {
    this.factory = factory
    this.inputs = inputs
  }

  /** One result per record of either stream; `create` makes a function for every subtask. */
  map<OUT>(create: () => CoMapFunction<A, B, OUT, C>): DataStream<OUT> {
    sampleOf(create, { call: 'map', operator: 'CoMap', methods: ['map1', 'map2'] })
    return this.transform('CoMap', () => new CoMapOperator(create()), { sideOutputs: [] })
  }

  /** Any number of results per record of either stream; `create` makes a function for every subtask. */
  flatMap<OUT>(create: () => CoFlatMapFunction<A, B, OUT, C>): DataStream<OUT> {
    sampleOf(create, {
      call: 'flatMap',
      operator: 'CoFlatMap',
      methods: ['flatMap1', 'flatMap2'],
    })
    return this.transform('CoFlatMap', () => new CoFlatMapOperator(create()), { sideOutputs: [] })
  }

  /**
   * Runs a two-input operator that the user wrote, with the key of each record selected where the streams have
   * keys; `create` makes one for every subtask.
   */
  transform<OUT>(
    name: string,
    create: () => StreamOperator,
    options: TransformOptions<OUT> = {},
  ): DataStream<OUT> {
    return this.factory.add(transformSpec({ name, inputs: 2, create, options }), this.inputs)
  }
}

/** Two streams of different types that one function reads. */
export class ConnectedStreams<A, B> extends TwoInputs<A, B, FunctionContext> {
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
    requireFunction(selectA, FUNCTION_USES.keyByOfTwo)
    requireFunction(selectB, FUNCTION_USES.keyByOfTwo)
    requireSerializer(serializer, 'keyBy')
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
        inputs: 2,
        ...inspectFunction(create, { operator: 'CoProcess', ...PROCESS }),
        body: () => ({ kind: 'operator', create: () => new CoProcessOperator(create()) }),
      },
      this.inputs,
    )
  }
}

/** Two streams with the same type of key, which one function reads with one state per key. */
export class KeyedConnectedStreams<K, A, B> extends TwoInputs<A, B, KeyedFunctionContext> {
  private readonly keySerializer: Serializer<K>

  constructor(factory: StreamFactory, inputs: ConnectedInputs, keySerializer: Serializer<K>) {
    super(factory, inputs)
    this.keySerializer = keySerializer
  }

  /** Runs a function that the user wrote; `create` makes one for every subtask. */
  process<OUT>(create: () => KeyedCoProcessFunction<K, A, B, OUT>): DataStream<OUT> {
    const keys = this.keySerializer
    return this.factory.add(
      {
        inputs: 2,
        needsKey: true,
        ...inspectFunction(create, { operator: 'KeyedCoProcess', ...PROCESS }),
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () => new KeyedCoProcessOperator<K, A, B, OUT>(create(), keys, eventTime),
        }),
      },
      this.inputs,
    )
  }
}
