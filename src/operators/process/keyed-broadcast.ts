import type { Serializer } from '../../core/serializer.ts'
import type { MapStateDescriptor } from '../../state/port/descriptors.ts'
import type { OperatorContext } from '../port/operator.ts'
import { refuseResult } from '../port/refuse-result.ts'
import { BroadcastWriterContext } from './broadcast.ts'
import { BroadcastStates } from './broadcast-states.ts'
import { KeyedOperatorContext } from './context.ts'
import type {
  BroadcastReadAccess,
  KeyedBroadcastProcessFunction,
  ReadOnlyBroadcastState,
} from './function.ts'
import { TimedKeyedOperator } from './timed-keyed.ts'

/** Context of the keyed side: state and timers of the key, and read-only broadcast state. */
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

/** Options of `KeyedBroadcastProcessOperator`. */
export interface KeyedBroadcastProcessOptions {
  /** Whether watermarks reach the operator. If not, event-time timers are refused. */
  readonly eventTime: boolean
  /** The declared broadcast state. */
  readonly states: readonly MapStateDescriptor<unknown, unknown>[]
}

/** The operator of a `KeyedBroadcastProcessFunction`. Input 1 is the broadcast stream. */
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
    options: KeyedBroadcastProcessOptions,
  ) {
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
      this.writerContext.process(this.userFunction, value as B, this.collector)
    }
  }

  override prepareSnapshot(checkpointId: number): void | Promise<void> {
    this.states.save()
    return super.prepareSnapshot(checkpointId)
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
