import { AbstractOperator } from './abstract-operator.ts'
import type { OperatorContext } from './operator.ts'
import type { CoProcessFunction } from './process-function.ts'
import { PlainProcessContext } from './process-operator-context.ts'
import { TimestampedCollector } from './timestamped-collector.ts'

/** Runs a CoProcessFunction on two connected streams that are not keyed. */
export class CoProcessOperator<IN1, IN2, OUT> extends AbstractOperator {
  private readonly userFunction: CoProcessFunction<IN1, IN2, OUT>
  private functionContext!: PlainProcessContext
  private collector!: TimestampedCollector

  constructor(userFunction: CoProcessFunction<IN1, IN2, OUT>) {
    super()
    this.userFunction = userFunction
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.functionContext = new PlainProcessContext(context)
    this.collector = new TimestampedCollector(context.output)
    return this.userFunction.open?.(this.functionContext)
  }

  processElement(input: number, value: unknown, timestamp: number): void {
    const { functionContext, collector } = this
    functionContext.timestamp = timestamp
    collector.timestamp = timestamp
    if (input === 0) this.userFunction.processElement1(value as IN1, functionContext, collector)
    else this.userFunction.processElement2(value as IN2, functionContext, collector)
  }

  override close(): void | Promise<void> {
    return this.userFunction.close?.()
  }
}
