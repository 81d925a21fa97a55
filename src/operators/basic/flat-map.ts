import { WeirError } from '../../core/errors.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import type { OperatorContext } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import { OpenContext } from '../process/context.ts'
import type { Collector, FunctionContext } from '../process/function.ts'
import type { RichFunction } from '../process/function-life.ts'
import type { RichFlatMapFunction } from '../process/rich-function.ts'
import { TimestampedCollector } from '../process/timestamped-collector.ts'
import { UserFunctionOperator } from '../process/user-function-operator.ts'

/** A function that returns results, passes them to the collector, or both. Returned results are emitted last. */
export type FlatMapFunction<IN, OUT> = (
  value: IN,
  out: Collector<OUT>,
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that only calls the collector has no result
) => Iterable<OUT> | undefined | void

/** The operator of `flatMap`: zero or more results for each record, with its timestamp. */
export class FlatMapOperator<IN, OUT> extends UserFunctionOperator<RichFunction<FunctionContext>> {
  private readonly flatMap: FlatMapFunction<IN, OUT>
  private collector!: TimestampedCollector

  constructor(flatMap: FlatMapFunction<IN, OUT> | RichFlatMapFunction<IN, OUT>) {
    super(typeof flatMap === 'function' ? {} : flatMap)
    this.flatMap =
      typeof flatMap === 'function' ? flatMap : (value, out) => flatMap.flatMap(value, out)
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.collector = new TimestampedCollector(context.output)
    return this.openFunction(new OpenContext(context))
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.collector.timestamp = timestamp
    const results = this.flatMap(value as IN, this.collector)
    if (results === undefined) return
    if (!isList(results)) refuseOther(results)
    for (const result of results) this.collector.collect(result)
  }
}

/** A text is iterable, too, but hardly ever meant as the list of its characters. */
function isList(results: unknown): boolean {
  return (
    Array.isArray(results) ||
    (typeof Object(results)[Symbol.iterator] === 'function' && typeof results !== 'string')
  )
}

function refuseOther(results: unknown): never {
  refusePromise(results, 'the function of flatMap')
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the function of flatMap returned ${describeValue(results)}, not a list: return an array or another iterable, or pass each result to out.collect and return nothing`,
  )
}
