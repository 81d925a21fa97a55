import type { MapStateDescriptor } from '../state/descriptors.ts'
import { AbstractOperator } from './abstract-operator.ts'
import { BroadcastStates } from './broadcast-states.ts'
import type { OperatorContext } from './operator.ts'
import type {
  BroadcastContext,
  BroadcastProcessFunction,
  BroadcastReadAccess,
  BroadcastState,
  ReadOnlyBroadcastState,
} from './process-function.ts'
import { PlainProcessContext } from './process-operator-context.ts'
import { TimestampedCollector } from './timestamped-collector.ts'

/** Context of the side that reads broadcast state. */
export class BroadcastReaderContext extends PlainProcessContext implements BroadcastReadAccess {
  private readonly states: BroadcastStates

  constructor(operator: OperatorContext, states: BroadcastStates) {
    super(operator)
    this.states = states
  }

  getBroadcastState<K, V>(descriptor: MapStateDescriptor<K, V>): ReadOnlyBroadcastState<K, V> {
    return this.states.reader(descriptor)
  }
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
}

/** Runs a BroadcastProcessFunction; input 1 is the broadcast stream. */
export class BroadcastProcessOperator<IN, B, OUT> extends AbstractOperator {
  private readonly userFunction: BroadcastProcessFunction<IN, B, OUT>
  private readonly descriptors: readonly MapStateDescriptor<unknown, unknown>[]
  private states!: BroadcastStates
  private readerContext!: BroadcastReaderContext
  private writerContext!: BroadcastWriterContext
  private collector!: TimestampedCollector

  constructor(
    userFunction: BroadcastProcessFunction<IN, B, OUT>,
    descriptors: readonly MapStateDescriptor<unknown, unknown>[],
  ) {
    super()
    this.userFunction = userFunction
    this.descriptors = descriptors
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.states = new BroadcastStates(context.name, this.descriptors, context.operatorState)
    this.readerContext = new BroadcastReaderContext(context, this.states)
    this.writerContext = new BroadcastWriterContext(context, this.states)
    this.collector = new TimestampedCollector(context.output)
    return this.userFunction.open?.(this.readerContext)
  }

  processElement(input: number, value: unknown, timestamp: number): void {
    this.collector.timestamp = timestamp
    if (input === 0) {
      this.readerContext.timestamp = timestamp
      this.userFunction.processElement(value as IN, this.readerContext, this.collector)
    } else {
      this.writerContext.timestamp = timestamp
      this.userFunction.processBroadcastElement(value as B, this.writerContext, this.collector)
    }
  }

  override prepareSnapshot(): void {
    this.states.save()
  }

  override close(): void | Promise<void> {
    return this.userFunction.close?.()
  }
}
