import { AbstractOperator } from './abstract-operator.ts'
import type { OperatorContext, Output } from './operator.ts'

/** Lets the records through for which the predicate holds. */
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
    if (this.predicate(value as T)) this.output.collect(value, timestamp)
  }
}
