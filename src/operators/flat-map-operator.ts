import { AbstractOperator } from './abstract-operator.ts'
import type { OperatorContext } from './operator.ts'
import type { Collector } from './process-function.ts'
import { TimestampedCollector } from './timestamped-collector.ts'

/** Returns results, gives them to the collector, or both; what it returns is emitted last. */
export type FlatMapFunction<IN, OUT> = (
  value: IN,
  out: Collector<OUT>,
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that only calls the collector returns nothing
) => Iterable<OUT> | undefined | void

/** Any number of results per record; timestamps stay. */
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
    for (const result of results) this.collector.collect(result)
  }
}
