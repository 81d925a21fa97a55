import { AbstractOperator } from './abstract-operator.ts'
import type { OperatorContext, Output } from './operator.ts'

/** One result per record; timestamps stay. */
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
    this.output.collect(this.map(value as IN), timestamp)
  }
}
