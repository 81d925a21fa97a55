import type {
  AggregatingStateDescriptor,
  ReducingStateDescriptor,
} from '../../state/port/descriptors.ts'
import type { AppendingState } from '../../state/port/handles.ts'
import { AbstractOperator } from '../port/abstract-operator.ts'
import type { OperatorContext } from '../port/operator.ts'
import { requireKeyedState } from '../process/context.ts'

/** Descriptors that fold the records of a key into one queryable value. */
export type FoldingDescriptor<T> =
  | ReducingStateDescriptor<T>
  | AggregatingStateDescriptor<T, unknown, unknown>

/** An operator that folds the records of every key into one value for queries. It emits nothing. */
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
