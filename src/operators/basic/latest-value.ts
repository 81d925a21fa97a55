import type { ValueStateDescriptor } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import { AbstractOperator } from '../port/abstract-operator.ts'
import type { OperatorContext } from '../port/operator.ts'
import { requireKeyedState } from '../process/context.ts'

/** An operator that keeps the latest record of every key for queries. It emits nothing. */
export class LatestValueOperator<T> extends AbstractOperator {
  private readonly descriptor: ValueStateDescriptor<T>
  private state!: ValueState<T>

  constructor(descriptor: ValueStateDescriptor<T>) {
    super()
    this.descriptor = descriptor
  }

  override open(context: OperatorContext): void {
    this.context = context
    this.state = requireKeyedState(context).value(this.descriptor)
  }

  processElement(_input: number, value: unknown): void {
    this.state.update(value as T)
  }
}
