import { refuseResult } from '../port/refuse-result.ts'
import type { KeyedProcessFunction } from './function.ts'
import { TimedKeyedOperator } from './timed-keyed.ts'

/** The operator of a `KeyedProcessFunction`: state and timers belong to the key of the record. */
export class KeyedProcessOperator<K, IN, OUT> extends TimedKeyedOperator<
  K,
  OUT,
  KeyedProcessFunction<K, IN, OUT>
> {
  processElement(_input: number, value: unknown, timestamp: number): void {
    this.functionContext.begin(timestamp)
    this.collector.timestamp = timestamp
    const { functionContext, collector } = this
    const result: unknown = this.userFunction.processElement(
      value as IN,
      functionContext,
      collector,
    )
    if (result !== undefined) refuseResult(result, 'processElement')
  }
}
