import { AbstractOperator } from '../port/abstract-operator.ts'
import type { OperatorContext } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type { Collector } from '../process/function.ts'
import { TimestampedCollector } from '../process/timestamped-collector.ts'

/** A function that returns results, passes them to the collector, or both. Returned results are emitted last. */
export type FlatMapFunction<IN, OUT> = (
  value: IN,
  out: Collector<OUT>,
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that only calls the collector has no result
) => Iterable<OUT> | undefined | void

/** The operator of `flatMap`: any number of results per record, with its timestamp. */
export class FlatMapOperator<IN, OUT> extends AbstractOperator {
  private readonly flatMap: FlatMapFunction<IN, OUT>
  private collector!: TimestampedCollector

  constructor(flatMap: FlatMapFunction<IN, OUT>) {
    super()
    this.flatMap = flatMap
  }

  override open(context: OperatorContext): void {
    this.context = context
    this.collector = new TimestampedCollector(context.output)
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.collector.timestamp = timestamp
    const results = this.flatMap(value as IN, this.collector)
    if (results === undefined) return
    refusePromise(results, 'the function of flatMap')
    for (const result of results) this.collector.collect(result)
  }
}
