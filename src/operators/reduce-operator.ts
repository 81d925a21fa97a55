import type { Serializer } from '../core/serializer.ts'
import { valueState } from '../state/descriptors.ts'
import type { ValueState } from '../state/handles.ts'
import { AbstractOperator } from './abstract-operator.ts'
import type { OperatorContext, Output } from './operator.ts'
import { requireKeyedState } from './process-operator-context.ts'

/** Keeps the reduction of all records of a key and emits it after each of them. */
export class ReduceOperator<T> extends AbstractOperator {
  private readonly reduce: (a: T, b: T) => T
  private readonly serializer: Serializer<T>
  private state!: ValueState<T>
  private output!: Output

  /** `serializer` encodes the reduction in state. */
  constructor(reduce: (a: T, b: T) => T, serializer: Serializer<T>) {
    super()
    this.reduce = reduce
    this.serializer = serializer
  }

  override open(context: OperatorContext): void {
    this.context = context
    this.output = context.output
    this.state = requireKeyedState(context).value(
      valueState<T>('reduction', { serializer: this.serializer }),
    )
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const before = this.state.value()
    const after = before === undefined ? (value as T) : this.reduce(before, value as T)
    this.state.update(after)
    this.output.collect(after, timestamp)
  }
}
