import type { OperatorContext, Output } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import { refuseResult } from '../port/refuse-result.ts'
import { OpenContext } from './context.ts'
import type { CoFlatMapFunction, CoMapFunction } from './rich-function.ts'
import { TimestampedCollector } from './timestamped-collector.ts'
import { UserFunctionOperator } from './user-function-operator.ts'

/** The operator of a `CoMapFunction`: one result per record of either input, with its timestamp. */
export class CoMapOperator<IN1, IN2, OUT> extends UserFunctionOperator<
  CoMapFunction<IN1, IN2, OUT>
> {
  private output!: Output

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.output = context.output
    return this.openFunction(new OpenContext(context))
  }

  processElement(input: number, value: unknown, timestamp: number): void {
    const { userFunction } = this
    const result = input === 0 ? userFunction.map1(value as IN1) : userFunction.map2(value as IN2)
    if (result instanceof Promise) refusePromise(result, input === 0 ? 'map1' : 'map2')
    this.output.collect(result, timestamp)
  }
}

/** The operator of a `CoFlatMapFunction`: zero or more results for each record of either input. */
export class CoFlatMapOperator<IN1, IN2, OUT> extends UserFunctionOperator<
  CoFlatMapFunction<IN1, IN2, OUT>
> {
  private collector!: TimestampedCollector

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.collector = new TimestampedCollector(context.output)
    return this.openFunction(new OpenContext(context))
  }

  processElement(input: number, value: unknown, timestamp: number): void {
    const { userFunction, collector } = this
    collector.timestamp = timestamp
    const result: unknown =
      input === 0
        ? userFunction.flatMap1(value as IN1, collector)
        : userFunction.flatMap2(value as IN2, collector)
    if (result !== undefined) refuseResult(result, input === 0 ? 'flatMap1' : 'flatMap2')
  }
}
