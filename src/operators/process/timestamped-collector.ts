import { requireTime } from '../port/event-time.ts'
import type { Output } from '../port/operator.ts'
import type { Collector } from './function.ts'

/**
 * The collector of functions. It emits with the timestamp of the call, unless the function gives another one: throws
 * INVALID_ARGUMENT where that is no whole number.
 */
export class TimestampedCollector implements Collector<unknown> {
  /** Event time of the current record or timer. */
  timestamp = -1
  private readonly output: Output

  constructor(output: Output) {
    this.output = output
  }

  collect(value: unknown, timestamp?: number): void {
    if (timestamp === undefined) {
      this.output.collect(value, this.timestamp)
      return
    }
    requireTime(timestamp, 'the timestamp of a result')
    this.output.collect(value, timestamp)
  }
}
