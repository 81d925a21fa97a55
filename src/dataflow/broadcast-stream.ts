import type { Serializer } from '../core/serializer.ts'
import { refuseArgument } from '../core/text/refuse-argument.ts'
import { BroadcastProcessOperator } from '../operators/process/broadcast.ts'
import type {
  BroadcastProcessFunction,
  KeyedBroadcastProcessFunction,
} from '../operators/process/function.ts'
import { KeyedBroadcastProcessOperator } from '../operators/process/keyed-broadcast.ts'
import type { MapStateDescriptor } from '../state/port/descriptors.ts'
import type { ConnectedInputs } from './connected-streams.ts'
import type { DataStream } from './data-stream.ts'
import type { StreamOrigin } from './graph-draft.ts'
import { inspectFunction } from './node-spec.ts'
import type { StreamFactory } from './stream-factory.ts'

const PROCESS = {
  call: 'process',
  methods: ['processElement', 'processBroadcastElement'],
} as const

/** Descriptors of broadcast state. */
export type BroadcastDescriptors = readonly MapStateDescriptor<unknown, unknown>[]

/** A stream of which every subtask gets every record, to fill the declared broadcast state. */
export class BroadcastStream<B> {
  /** The type of the records, for the compiler only. */
  declare readonly recordType: B
  readonly origins: readonly StreamOrigin[]
  readonly states: BroadcastDescriptors

  constructor(origins: readonly StreamOrigin[], states: BroadcastDescriptors) {
    for (const state of states) {
      const isMap = (state as Partial<typeof state> | undefined)?.kind === 'map'
      if (!isMap)
        refuseArgument('broadcast(...)', state, "map states: broadcast(mapState('rules'))")
    }
    this.origins = origins.map((origin) => ({ ...origin, partitioning: { kind: 'broadcast' } }))
    this.states = states
  }
}

/** A stream connected to a broadcast stream. */
export class BroadcastConnectedStream<A, B> {
  private readonly factory: StreamFactory
  private readonly inputs: ConnectedInputs
  private readonly states: BroadcastDescriptors

  constructor(factory: StreamFactory, inputs: ConnectedInputs, states: BroadcastDescriptors) {
    this.factory = factory
    this.inputs = inputs
    this.states = states
  }

  /** Runs a function that the user wrote; `create` makes one for every subtask. */
  process<OUT>(create: () => BroadcastProcessFunction<A, B, OUT>): DataStream<OUT> {
    const { states } = this
    return this.factory.add(
      {
        inputs: 2,
        broadcastStates: states,
        ...inspectFunction(create, { operator: 'BroadcastProcess', ...PROCESS }),
        body: () => ({
          kind: 'operator',
          create: () => new BroadcastProcessOperator<A, B, OUT>(create(), states),
        }),
      },
      this.inputs,
    )
  }
}

/** Options of a keyed stream that is connected to a broadcast stream. */
export interface KeyedBroadcastOptions<K> {
  readonly states: BroadcastDescriptors
  readonly keySerializer: Serializer<K>
}

/** A keyed stream connected to a broadcast stream. */
export class KeyedBroadcastConnectedStream<K, A, B> {
  private readonly factory: StreamFactory
  private readonly inputs: ConnectedInputs
  private readonly states: BroadcastDescriptors
  private readonly keySerializer: Serializer<K>

  constructor(factory: StreamFactory, inputs: ConnectedInputs, options: KeyedBroadcastOptions<K>) {
    this.factory = factory
    this.inputs = inputs
    this.states = options.states
    this.keySerializer = options.keySerializer
  }

  /** Runs a function that the user wrote; `create` makes one for every subtask. */
  process<OUT>(create: () => KeyedBroadcastProcessFunction<K, A, B, OUT>): DataStream<OUT> {
    const { states, keySerializer: keys } = this
    return this.factory.add(
      {
        inputs: 2,
        needsKey: true,
        broadcastStates: states,
        ...inspectFunction(create, { operator: 'KeyedBroadcastProcess', ...PROCESS }),
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () =>
            new KeyedBroadcastProcessOperator<K, A, B, OUT>(create(), keys, { eventTime, states }),
        }),
      },
      this.inputs,
    )
  }
}
