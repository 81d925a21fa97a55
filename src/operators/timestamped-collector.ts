import type { Output } from './operator.ts'
import type { Collector } from './process-function.ts'

/** The collector that functions get: emits with the timestamp of the call unless told another. */
export class TimestampedCollector implements Collector<unknown> {
  /** Event time of the record or timer being processed. */
  timestamp = -1
  private readonly output: Output

  constructor(output: Output) {
    this.output = output
  }

  collect(value: unknown, timestamp: number = this.timestamp): void {
    this.output.collect(value, timestamp)
  }
}
