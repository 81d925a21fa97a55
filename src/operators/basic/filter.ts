import { AbstractOperator } from '../port/abstract-operator.ts'
import type { OperatorContext, Output } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'

/** The operator of `filter`: emits the records for which the predicate holds. */
export class FilterOperator<T> extends AbstractOperator {
  private readonly predicate: (value: T) => boolean
  private output!: Output

  constructor(predicate: (value: T) => boolean) {
    super()
    this.predicate = predicate
  }

  override open(context: OperatorContext): void {
    this.context = context
    this.output = context.output
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const result: unknown = this.predicate(value as T)
    if (result === false) return
    if (result !== true) refusePromise(result, 'the predicate of filter')
    if (result) this.output.collect(value, timestamp)
  }
}
