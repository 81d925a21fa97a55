import type { Serializer } from '../core/serializer.ts'
import type { MapStateDescriptor } from '../state/descriptors.ts'
import { BroadcastWriterContext } from './broadcast-process-operator.ts'
import { BroadcastStates } from './broadcast-states.ts'
import type { OperatorContext } from './operator.ts'
import type {
  BroadcastReadAccess,
  KeyedBroadcastProcessFunction,
  ReadOnlyBroadcastState,
} from './process-function.ts'
import { KeyedOperatorContext } from './process-operator-context.ts'
import { TimedKeyedOperator } from './timed-keyed-operator.ts'

/** Context of the keyed side: state and timers of the key, and the broadcast state to read. */
class KeyedBroadcastContext<K> extends KeyedOperatorContext<K> implements BroadcastReadAccess {
  private readonly states: BroadcastStates

  constructor(operator: OperatorContext, keySerializer: Serializer<K>, states: BroadcastStates) {
    super(operator, keySerializer)
    this.states = states
  }

  getBroadcastState<MK, V>(descriptor: MapStateDescriptor<MK, V>): ReadOnlyBroadcastState<MK, V> {
    return this.states.reader(descriptor)
  }
}

/** Runs a KeyedBroadcastProcessFunction; input 1 is the broadcast stream. */
export class KeyedBroadcastProcessOperator<K, IN, B, OUT> extends TimedKeyedOperator<
  K,
  OUT,
  KeyedBroadcastProcessFunction<K, IN, B, OUT>,
  KeyedBroadcastContext<K>
> {
  private readonly descriptors: readonly MapStateDescriptor<unknown, unknown>[]
  private states!: BroadcastStates
  private writerContext!: BroadcastWriterContext

  constructor(
    userFunction: KeyedBroadcastProcessFunction<K, IN, B, OUT>,
    keySerializer: Serializer<K>,
    eventTime: boolean,
    descriptors: readonly MapStateDescriptor<unknown, unknown>[],
  ) {
    super(userFunction, keySerializer, eventTime)
    this.descriptors = descriptors
  }

  processElement(input: number, value: unknown, timestamp: number): void {
    this.collector.timestamp = timestamp
    if (input === 0) {
      this.functionContext.begin(timestamp)
      this.userFunction.processElement(value as IN, this.functionContext, this.collector)
    } else {
      this.writerContext.timestamp = timestamp
      this.userFunction.processBroadcastElement(value as B, this.writerContext, this.collector)
    }
  }

  override prepareSnapshot(): void {
    this.states.save()
  }

  protected override createContext(
    context: OperatorContext,
    keySerializer: Serializer<K>,
  ): KeyedBroadcastContext<K> {
    this.states = new BroadcastStates(context.name, this.descriptors, context.operatorState)
    this.writerContext = new BroadcastWriterContext(context, this.states)
    return new KeyedBroadcastContext(context, keySerializer, this.states)
  }
}
