import type { OperatorContext } from '../port/operator.ts'
import { refuseResult } from '../port/refuse-result.ts'
import { OpenContext } from './context.ts'
import type { CoProcessFunction } from './function.ts'
import { TimestampedCollector } from './timestamped-collector.ts'
import { UserFunctionOperator } from './user-function-operator.ts'

/** The operator of a `CoProcessFunction` on two connected streams without keys. */
export class CoProcessOperator<IN1, IN2, OUT> extends UserFunctionOperator<
  CoProcessFunction<IN1, IN2, OUT>
> {
  private functionContext!: OpenContext
  private collector!: TimestampedCollector

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.functionContext = new OpenContext(context)
    this.collector = new TimestampedCollector(context.output)
    return this.openFunction(this.functionContext)
  }

  processElement(input: number, value: unknown, timestamp: number): void {
    const { functionContext, collector } = this
    functionContext.timestamp = timestamp
    collector.timestamp = timestamp
    const result: unknown =
      input === 0
        ? this.userFunction.processElement1(value as IN1, functionContext, collector)
        : this.userFunction.processElement2(value as IN2, functionContext, collector)
    if (result !== undefined) refuseResult(result, 'processElement')
  }
}
