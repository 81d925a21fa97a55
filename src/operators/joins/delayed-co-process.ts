import type { Serializer } from '../../core/serializer.ts'
import type { KeyedCoProcessFunction } from '../process/function.ts'
import { KeyedCoProcessOperator } from '../process/keyed-co-process.ts'

/** The operator of a join whose results may be behind the watermark of its inputs, which it holds back by as much. */
export class DelayedCoProcessOperator<K, IN1, IN2, OUT> extends KeyedCoProcessOperator<
  K,
  IN1,
  IN2,
  OUT
> {
  readonly watermarkDelayMs: number

  /** `watermarkDelayMs`: how far results may be behind, ms. */
  constructor(
    join: KeyedCoProcessFunction<K, IN1, IN2, OUT>,
    keySerializer: Serializer<K>,
    {
      eventTime,
      watermarkDelayMs,
    }: { readonly eventTime: boolean; readonly watermarkDelayMs: number },
  ) {
    super(join, keySerializer, eventTime)
    this.watermarkDelayMs = watermarkDelayMs
  }
}
