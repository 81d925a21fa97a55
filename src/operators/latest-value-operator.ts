import type { ValueStateDescriptor } from '../state/descriptors.ts'
import type { ValueState } from '../state/handles.ts'
import { AbstractOperator } from './abstract-operator.ts'
import type { OperatorContext } from './operator.ts'
import { requireKeyedState } from './process-operator-context.ts'

/** Keeps the latest record of every key, for clients to query; emits nothing. */
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
