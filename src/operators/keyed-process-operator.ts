import type { KeyedProcessFunction } from './process-function.ts'
import { TimedKeyedOperator } from './timed-keyed-operator.ts'

/** Runs a KeyedProcessFunction: state and timers belong to the key of the record. */
export class KeyedProcessOperator<K, IN, OUT> extends TimedKeyedOperator<
  K,
  OUT,
  KeyedProcessFunction<K, IN, OUT>
> {
  processElement(_input: number, value: unknown, timestamp: number): void {
    this.functionContext.begin(timestamp)
    this.collector.timestamp = timestamp
    this.userFunction.processElement(value as IN, this.functionContext, this.collector)
  }
}
