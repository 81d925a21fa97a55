import type { OperatorContext, Output } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import { OpenContext } from '../process/context.ts'
import type { FunctionContext } from '../process/function.ts'
import type { RichFunction } from '../process/function-life.ts'
import type { RichMapFunction } from '../process/rich-function.ts'
import { UserFunctionOperator } from '../process/user-function-operator.ts'

/**
 * A result of `map`, which is no promise: nothing waits for one. Generic code names it as the result of a function that it
 * gets, as in `(value: T) => Synchronous<OUT>`.
 */
export type Synchronous<OUT> =
  OUT extends PromiseLike<unknown>
    ? 'map takes no asynchronous function: use AsyncDataStream.unorderedWait or orderedWait'
    : OUT

/** The operator of `map`: one result per record, with its timestamp. */
export class MapOperator<IN, OUT> extends UserFunctionOperator<RichFunction<FunctionContext>> {
  private readonly map: (value: IN) => OUT
  private output!: Output

  constructor(map: ((value: IN) => OUT) | RichMapFunction<IN, OUT>) {
    super(typeof map === 'function' ? {} : map)
    this.map = typeof map === 'function' ? map : (value) => map.map(value)
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.output = context.output
    return this.openFunction(new OpenContext(context))
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const result = this.map(value as IN)
    if (result instanceof Promise) refusePromise(result, 'the function of map')
    this.output.collect(result, timestamp)
  }
}
