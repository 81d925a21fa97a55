import type { Output } from '../port/operator.ts'
import type { Collector } from './function.ts'

/** The collector of functions. It emits with the timestamp of the call, unless the function gives another one. */
export class TimestampedCollector implements Collector<unknown> {
  /** Event time of the current record or timer. */
  timestamp = -1
  private readonly output: Output

  constructor(output: Output) {
    this.output = output
  }

  collect(value: unknown, timestamp: number = this.timestamp): void {
    this.output.collect(value, timestamp)
  }
}
