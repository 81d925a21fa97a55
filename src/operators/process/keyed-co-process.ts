import { refuseResult } from '../port/refuse-result.ts'
import type { KeyedCoProcessFunction } from './function.ts'
import { TimedKeyedOperator } from './timed-keyed.ts'

/** The operator of a `KeyedCoProcessFunction`: both inputs use the state and timers of the record's key. */
export class KeyedCoProcessOperator<K, IN1, IN2, OUT> extends TimedKeyedOperator<
  K,
  OUT,
  KeyedCoProcessFunction<K, IN1, IN2, OUT>
> {
  processElement(input: number, value: unknown, timestamp: number): void {
    const { functionContext, collector } = this
    functionContext.begin(timestamp)
    collector.timestamp = timestamp
    const result: unknown =
      input === 0
        ? this.userFunction.processElement1(value as IN1, functionContext, collector)
        : this.userFunction.processElement2(value as IN2, functionContext, collector)
    if (result !== undefined) refuseResult(result, 'processElement')
  }
}
