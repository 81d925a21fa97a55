import type { OperatorContext } from '../port/operator.ts'
import { refuseResult } from '../port/refuse-result.ts'
import { OpenContext } from './context.ts'
import type { ProcessFunction } from './function.ts'
import { TimestampedCollector } from './timestamped-collector.ts'
import { UserFunctionOperator } from './user-function-operator.ts'

/** The operator of a `ProcessFunction` on a stream without keys. */
export class ProcessOperator<IN, OUT> extends UserFunctionOperator<ProcessFunction<IN, OUT>> {
  private functionContext!: OpenContext
  private collector!: TimestampedCollector

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.functionContext = new OpenContext(context)
    this.collector = new TimestampedCollector(context.output)
    return this.openFunction(this.functionContext)
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.functionContext.timestamp = timestamp
    this.collector.timestamp = timestamp
    const { functionContext, collector } = this
    const result: unknown = this.userFunction.processElement(
      value as IN,
      functionContext,
      collector,
    )
    if (result !== undefined) refuseResult(result, 'processElement')
  }
}
