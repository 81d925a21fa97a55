import type { KeyedCoProcessFunction } from './process-function.ts'
import { TimedKeyedOperator } from './timed-keyed-operator.ts'

/** Runs a KeyedCoProcessFunction: both inputs see the state and timers of the record's key. */
export class KeyedCoProcessOperator<K, IN1, IN2, OUT> extends TimedKeyedOperator<
  K,
  OUT,
  KeyedCoProcessFunction<K, IN1, IN2, OUT>
> {
  processElement(input: number, value: unknown, timestamp: number): void {
    const { functionContext, collector } = this
    functionContext.begin(timestamp)
    collector.timestamp = timestamp
    if (input === 0) this.userFunction.processElement1(value as IN1, functionContext, collector)
    else this.userFunction.processElement2(value as IN2, functionContext, collector)
  }
}
