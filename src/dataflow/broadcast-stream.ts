import type { Serializer } from '../core/serializer.ts'
import { BroadcastProcessOperator } from '../operators/broadcast-process-operator.ts'
import { KeyedBroadcastProcessOperator } from '../operators/keyed-broadcast-process-operator.ts'
import type {
  BroadcastProcessFunction,
  KeyedBroadcastProcessFunction,
} from '../operators/process-function.ts'
import type { MapStateDescriptor } from '../state/descriptors.ts'
import type { ConnectedInputs } from './connected-streams.ts'
import { type DataStream, streamOf } from './data-stream.ts'
import { inspectFunction } from './function-spec.ts'
import type { GraphDraft, StreamOrigin } from './graph-draft.ts'

/** Descriptors of broadcast state, of any types. */
export type BroadcastDescriptors = readonly MapStateDescriptor<unknown, unknown>[]

/** A stream that every subtask gets whole, to fill the declared broadcast state with. */
export class BroadcastStream<B> {
  /** For the compiler: which type the records have. */
  declare readonly recordType: B
  readonly origins: readonly StreamOrigin[]
  readonly states: BroadcastDescriptors

  constructor(origins: readonly StreamOrigin[], states: BroadcastDescriptors) {
    this.origins = origins.map((origin) => ({ ...origin, partitioning: { kind: 'broadcast' } }))
    this.states = states
  }
}

/** A stream connected to a broadcast stream. */
export class BroadcastConnectedStream<A, B> {
  private readonly draft: GraphDraft
  private readonly inputs: ConnectedInputs
  private readonly states: BroadcastDescriptors

  constructor(draft: GraphDraft, inputs: ConnectedInputs, states: BroadcastDescriptors) {
    this.draft = draft
    this.inputs = inputs
    this.states = states
  }

  /** Runs a function of one's own; the factory makes one for every subtask. */
  process<OUT>(create: () => BroadcastProcessFunction<A, B, OUT>): DataStream<OUT> {
    const { states } = this
    const node = this.draft.addNode(
      {
        name: 'BroadcastProcess',
        inputs: 2,
        broadcastStates: states,
        ...inspectFunction(create),
        body: () => ({
          kind: 'operator',
          create: () => new BroadcastProcessOperator<A, B, OUT>(create(), states),
        }),
      },
      this.inputs,
    )
    return streamOf<OUT>(this.draft, node)
  }
}

/** A keyed stream connected to a broadcast stream. */
export class KeyedBroadcastConnectedStream<K, A, B> {
  private readonly draft: GraphDraft
  private readonly inputs: ConnectedInputs
  private readonly states: BroadcastDescriptors
  private readonly keySerializer: Serializer<K>

  constructor(
    draft: GraphDraft,
    inputs: ConnectedInputs,
    states: BroadcastDescriptors,
    keySerializer: Serializer<K>,
  ) {
    this.draft = draft
    this.inputs = inputs
    this.states = states
    this.keySerializer = keySerializer
  }

  /** Runs a function of one's own; the factory makes one for every subtask. */
  process<OUT>(create: () => KeyedBroadcastProcessFunction<K, A, B, OUT>): DataStream<OUT> {
    const { states, keySerializer: keys } = this
    const node = this.draft.addNode(
      {
        name: 'KeyedBroadcastProcess',
        inputs: 2,
        needsKey: true,
        broadcastStates: states,
        ...inspectFunction(create),
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () =>
            new KeyedBroadcastProcessOperator<K, A, B, OUT>(create(), keys, eventTime, states),
        }),
      },
      this.inputs,
    )
    return streamOf<OUT>(this.draft, node)
  }
}
