import type { AggregatingStateDescriptor, ReducingStateDescriptor } from '../state/descriptors.ts'
import type { AppendingState } from '../state/handles.ts'
import { AbstractOperator } from './abstract-operator.ts'
import type { OperatorContext } from './operator.ts'
import { requireKeyedState } from './process-operator-context.ts'

/** Descriptors that fold the records of a key into one queryable value. */
export type FoldingDescriptor<T> =
  | ReducingStateDescriptor<T>
  | AggregatingStateDescriptor<T, unknown, unknown>

/** Folds the records of every key into one value, for clients to query; emits nothing. */
export class QueryableStateOperator<T> extends AbstractOperator {
  private readonly descriptor: FoldingDescriptor<T>
  private state!: AppendingState<T, unknown>

  constructor(descriptor: FoldingDescriptor<T>) {
    super()
    this.descriptor = descriptor
  }

  override open(context: OperatorContext): void {
    this.context = context
    const keyedState = requireKeyedState(context)
    this.state =
      this.descriptor.kind === 'reducing'
        ? keyedState.reducing(this.descriptor)
        : keyedState.aggregating(this.descriptor)
  }

  processElement(_input: number, value: unknown): void {
    this.state.add(value as T)
  }
}
