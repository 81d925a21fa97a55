import { AbstractOperator } from '../port/abstract-operator.ts'
import type { OperatorContext, Output } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'

/** The operator of `map`: one result per record, with its timestamp. */
export class MapOperator<IN, OUT> extends AbstractOperator {
  private readonly map: (value: IN) => OUT
  private output!: Output

  constructor(map: (value: IN) => OUT) {
    super()
    this.map = map
  }

  override open(context: OperatorContext): void {
    this.context = context
    this.output = context.output
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const result = this.map(value as IN)
    if (result instanceof Promise) refusePromise(result, 'the function of map')
    this.output.collect(result, timestamp)
  }
}
