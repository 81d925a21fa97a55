import type { Serializer } from '../../core/serializer.ts'
import { valueState } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import type { OperatorContext, Output } from '../port/operator.ts'
import { requireReduced } from '../port/require-kept.ts'
import { OpenContext, requireKeyedState } from '../process/context.ts'
import type { FunctionContext } from '../process/function.ts'
import type { RichFunction } from '../process/function-life.ts'
import type { RichReduceFunction } from '../process/rich-function.ts'
import { UserFunctionOperator } from '../process/user-function-operator.ts'

/** The operator of `reduce`: keeps the reduction of all records of a key, and emits it after each record. */
export class ReduceOperator<T> extends UserFunctionOperator<RichFunction<FunctionContext>> {
  private readonly reduce: (a: T, b: T) => T
  private readonly serializer: Serializer<T>
  private state!: ValueState<T>
  private output!: Output

  /** `serializer` encodes the reduction in state. */
  constructor(reduce: ((a: T, b: T) => T) | RichReduceFunction<T>, serializer: Serializer<T>) {
    super(typeof reduce === 'function' ? {} : reduce)
    this.reduce = typeof reduce === 'function' ? reduce : (a, b) => reduce.reduce(a, b)
    this.serializer = serializer
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.output = context.output
    this.state = requireKeyedState(context).value(
      valueState<T>('reduction', { serializer: this.serializer }),
    )
    return this.openFunction(new OpenContext(context))
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const before = this.state.value()
    const after =
      before === undefined
        ? (value as T)
        : requireReduced(this.reduce(before, value as T), 'the function of reduce')
    this.state.update(after)
    this.output.collect(after, timestamp)
  }
}
