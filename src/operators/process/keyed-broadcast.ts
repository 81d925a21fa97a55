import { ByteReader } from '../../core/byte-reader.ts'
import { keyGroupOf } from '../../core/key-group.ts'
import { flag, required } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { MapStateDescriptor, TypedStateDescriptor } from '../../state/port/descriptors.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { OperatorContext } from '../port/operator.ts'
import { refuseResult } from '../port/refuse-result.ts'
import { BROADCAST_STATES, BroadcastWriterContext } from './broadcast.ts'
import { BroadcastStates } from './broadcast-states.ts'
import { KeyedOperatorContext, requireKeyedState } from './context.ts'
import type {
  BroadcastReadAccess,
  KeyedBroadcastContext,
  KeyedBroadcastProcessFunction,
  ReadOnlyBroadcastState,
} from './function.ts'
import { TimedKeyedOperator } from './timed-keyed.ts'

const NO_NAMESPACE = new Uint8Array(0)

/** Context of the keyed side: state and timers of the key, and read-only broadcast state. */
class KeyedReaderContext<K> extends KeyedOperatorContext<K> implements BroadcastReadAccess {
  private readonly states: BroadcastStates

  constructor(operator: OperatorContext, keySerializer: Serializer<K>, states: BroadcastStates) {
    super(operator, keySerializer)
    this.states = states
  }

  getBroadcastState<MK, V>(descriptor: MapStateDescriptor<MK, V>): ReadOnlyBroadcastState<MK, V> {
    return this.states.reader(descriptor)
  }
}

/** Context of the broadcast side: it writes broadcast state, and reaches the keyed state of every key. */
class KeyedWriterContext<K> extends BroadcastWriterContext implements KeyedBroadcastContext<K> {
  private readonly keyedState: KeyedState
  private readonly keySerializer: Serializer<K>

  constructor(operator: OperatorContext, states: BroadcastStates, keySerializer: Serializer<K>) {
    super(operator, states)
    this.keyedState = requireKeyedState(operator)
    this.keySerializer = keySerializer
  }

  applyToKeyedState(descriptor: TypedStateDescriptor, apply: (key: K, state: never) => void): void {
    const { keyedState, keySerializer, maxParallelism } = this
    const state = handleOf(keyedState, descriptor)
    const keys = keyedState.keysOf(descriptor)
    // Its caller goes on with what it has found, as in Flink: it cannot wait for other turns of the slot.
    const call = this.operator.beginLongCall?.(keys.length)
    try {
      for (const key of keys) {
        call?.step()
        keyedState.setCurrentKey(key, keyGroupOf(key, maxParallelism))
        keyedState.setCurrentNamespace(NO_NAMESPACE)
        const result: unknown = apply(keySerializer.read(new ByteReader(key)), state as never)
        if (result instanceof Promise) refuseResult(result, 'the function of applyToKeyedState')
      }
    } finally {
      call?.end()
      keyedState.deselectKey()
    }
  }
}

function handleOf(state: KeyedState, descriptor: TypedStateDescriptor): unknown {
  switch (descriptor.kind) {
    case 'value':
      return state.value(descriptor)
    case 'list':
      return state.list(descriptor)
    case 'map':
      return state.map(descriptor)
    case 'reducing':
      return state.reducing(descriptor)
    case 'aggregating':
      return state.aggregating(descriptor)
  }
}

/** Options of `KeyedBroadcastProcessOperator`. */
export interface KeyedBroadcastProcessOptions {
  /** Whether watermarks reach the operator. If not, event-time timers are refused. */
  readonly eventTime: boolean
  /** The declared broadcast state. */
  readonly states: readonly MapStateDescriptor<unknown, unknown>[]
}

const OPTIONS: OptionShape<KeyedBroadcastProcessOptions> = {
  eventTime: required(flag),
  states: required(BROADCAST_STATES),
}

/** The operator of a `KeyedBroadcastProcessFunction`. Input 1 is the broadcast stream. */
export class KeyedBroadcastProcessOperator<K, IN, B, OUT> extends TimedKeyedOperator<
  K,
  OUT,
  KeyedBroadcastProcessFunction<K, IN, B, OUT>,
  KeyedReaderContext<K>
> {
  private readonly descriptors: readonly MapStateDescriptor<unknown, unknown>[]
  /** Its broadcast state, once it is open. */
  broadcastStates!: BroadcastStates
  private writerContext!: KeyedWriterContext<K>

  constructor(
    userFunction: KeyedBroadcastProcessFunction<K, IN, B, OUT>,
    keySerializer: Serializer<K>,
    options: KeyedBroadcastProcessOptions,
  ) {
    checkOptions('new KeyedBroadcastProcessOperator', OPTIONS, options)
    super(userFunction, keySerializer, options.eventTime)
    this.descriptors = options.states
  }

  processElement(input: number, value: unknown, timestamp: number): void {
    this.collector.timestamp = timestamp
    if (input === 0) {
      this.functionContext.begin(timestamp)
      const result: unknown = this.userFunction.processElement(
        value as IN,
        this.functionContext,
        this.collector,
      )
      if (result !== undefined) refuseResult(result, 'processElement')
    } else {
      this.context.keyedState?.deselectKey()
      this.writerContext.process(this.userFunction, value as B, this.collector)
    }
  }

  override prepareSnapshot(checkpointId: number): void | Promise<void> {
    this.broadcastStates.save()
    return super.prepareSnapshot(checkpointId)
  }

  protected override createContext(
    context: OperatorContext,
    keySerializer: Serializer<K>,
  ): KeyedReaderContext<K> {
    this.broadcastStates = new BroadcastStates(
      context.name,
      this.descriptors,
      context.operatorState,
    )
    this.writerContext = new KeyedWriterContext(context, this.broadcastStates, keySerializer)
    return new KeyedReaderContext(context, keySerializer, this.broadcastStates)
  }
}
