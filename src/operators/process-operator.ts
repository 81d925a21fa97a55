import { AbstractOperator } from './abstract-operator.ts'
import type { OperatorContext } from './operator.ts'
import type { ProcessFunction } from './process-function.ts'
import { PlainProcessContext } from './process-operator-context.ts'
import { TimestampedCollector } from './timestamped-collector.ts'

/** Runs a ProcessFunction on a stream that is not keyed. */
export class ProcessOperator<IN, OUT> extends AbstractOperator {
  private readonly userFunction: ProcessFunction<IN, OUT>
  private functionContext!: PlainProcessContext
  private collector!: TimestampedCollector

  constructor(userFunction: ProcessFunction<IN, OUT>) {
    super()
    this.userFunction = userFunction
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.functionContext = new PlainProcessContext(context)
    this.collector = new TimestampedCollector(context.output)
    return this.userFunction.open?.(this.functionContext)
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.functionContext.timestamp = timestamp
    this.collector.timestamp = timestamp
    this.userFunction.processElement(value as IN, this.functionContext, this.collector)
  }

  override close(): void | Promise<void> {
    return this.userFunction.close?.()
  }
}
