import { listOf, objectWith } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { MapStateDescriptor } from '../../state/port/descriptors.ts'
import type { OperatorContext } from '../port/operator.ts'
import { refuseResult } from '../port/refuse-result.ts'
import { BroadcastStates } from './broadcast-states.ts'
import { PlainProcessContext } from './context.ts'
import type {
  BroadcastContext,
  BroadcastProcessFunction,
  BroadcastReadAccess,
  BroadcastState,
  Collector,
  ReadOnlyBroadcastState,
} from './function.ts'
import { TimestampedCollector } from './timestamped-collector.ts'
import { UserFunctionOperator } from './user-function-operator.ts'

/** The descriptors of broadcast state. */
export const BROADCAST_STATES = listOf(
  objectWith<MapStateDescriptor<unknown, unknown>>(
    "a descriptor of broadcast state, such as mapState('rules')",
  ),
)

/** Context of the side that reads broadcast state. */
class BroadcastReaderContext extends PlainProcessContext implements BroadcastReadAccess {
  private readonly states: BroadcastStates

  constructor(operator: OperatorContext, states: BroadcastStates) {
    super(operator)
    this.states = states
  }

  getBroadcastState<K, V>(descriptor: MapStateDescriptor<K, V>): ReadOnlyBroadcastState<K, V> {
    return this.states.reader(descriptor)
  }
}

/** The part of a function that takes the broadcast stream; `C` is the context that it is given. */
interface BroadcastElementFunction<B, OUT, C> {
  processBroadcastElement(value: B, context: C, out: Collector<OUT>): void
}

/** Context of the side that writes broadcast state. */
export class BroadcastWriterContext extends PlainProcessContext implements BroadcastContext {
  private readonly states: BroadcastStates

  constructor(operator: OperatorContext, states: BroadcastStates) {
    super(operator)
    this.states = states
  }

  getBroadcastState<K, V>(descriptor: MapStateDescriptor<K, V>): BroadcastState<K, V> {
    return this.states.writer(descriptor)
  }

  /** Passes an element of the broadcast stream to the function, with the collector's timestamp. */
  process<B, OUT>(
    userFunction: BroadcastElementFunction<B, OUT, this>,
    value: B,
    collector: TimestampedCollector,
  ): void {
    this.timestamp = collector.timestamp
    const result: unknown = userFunction.processBroadcastElement(value, this, collector)
    if (result !== undefined) refuseResult(result, 'processBroadcastElement')
  }
}

/** The operator of a `BroadcastProcessFunction`. Input 1 is the broadcast stream. */
export class BroadcastProcessOperator<IN, B, OUT> extends UserFunctionOperator<
  BroadcastProcessFunction<IN, B, OUT>
> {
  private readonly descriptors: readonly MapStateDescriptor<unknown, unknown>[]
  /** Its broadcast state, once it is open. */
  broadcastStates!: BroadcastStates
  private readerContext!: BroadcastReaderContext
  private writerContext!: BroadcastWriterContext
  private collector!: TimestampedCollector

  constructor(
    userFunction: BroadcastProcessFunction<IN, B, OUT>,
    descriptors: readonly MapStateDescriptor<unknown, unknown>[],
  ) {
    super(userFunction)
    checkArgument('new BroadcastProcessOperator', 'descriptors', BROADCAST_STATES, descriptors)
    this.descriptors = descriptors
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.broadcastStates = new BroadcastStates(
      context.name,
      this.descriptors,
      context.operatorState,
    )
    this.readerContext = new BroadcastReaderContext(context, this.broadcastStates)
    this.writerContext = new BroadcastWriterContext(context, this.broadcastStates)
    this.collector = new TimestampedCollector(context.output)
    return this.openFunction(this.readerContext)
  }

  processElement(input: number, value: unknown, timestamp: number): void {
    this.collector.timestamp = timestamp
    if (input === 0) {
      this.readerContext.timestamp = timestamp
      const result: unknown = this.userFunction.processElement(
        value as IN,
        this.readerContext,
        this.collector,
      )
      if (result !== undefined) refuseResult(result, 'processElement')
    } else {
      this.writerContext.process(this.userFunction, value as B, this.collector)
    }
  }

  override prepareSnapshot(checkpointId: number): void | Promise<void> {
    this.broadcastStates.save()
    return super.prepareSnapshot(checkpointId)
  }
}
