import { WeirError } from '../../core/errors.ts'
import type { OperatorContext, Output } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import { OpenContext } from '../process/context.ts'
import type { FunctionContext } from '../process/function.ts'
import type { RichFunction } from '../process/function-life.ts'
import type { RichFilterFunction } from '../process/rich-function.ts'
import { UserFunctionOperator } from '../process/user-function-operator.ts'

/** The operator of `filter`: emits the records for which the predicate holds. */
export class FilterOperator<T> extends UserFunctionOperator<RichFunction<FunctionContext>> {
  private readonly predicate: (value: T) => boolean
  private output!: Output

  constructor(filter: ((value: T) => boolean) | RichFilterFunction<T>) {
    super(typeof filter === 'function' ? {} : filter)
    this.predicate = typeof filter === 'function' ? filter : (value) => filter.filter(value)
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.output = context.output
    return this.openFunction(new OpenContext(context))
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const result: unknown = this.predicate(value as T)
    if (result === false) return
    if (result !== true) refuseUnclear(result)
    if (result) this.output.collect(value, timestamp)
  }
}

/** Nothing means a forgotten `return` more often than `false`, and would drop records without a word. */
function refuseUnclear(result: unknown): void {
  refusePromise(result, 'the predicate of filter')
  if (result !== undefined) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    'the predicate of filter returned undefined: return true or false, as in (record) => record.price > 10',
  )
}
