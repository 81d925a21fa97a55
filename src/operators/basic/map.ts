import type { OperatorContext, Output } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import { OpenContext } from '../process/context.ts'
import type { FunctionContext } from '../process/function.ts'
import type { RichFunction } from '../process/function-life.ts'
import type { RichMapFunction } from '../process/rich-function.ts'
import { UserFunctionOperator } from '../process/user-function-operator.ts'

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
