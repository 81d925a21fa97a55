import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import { AbstractOperator } from '../port/abstract-operator.ts'
import { requireTime } from '../port/event-time.ts'
import type { OperatorContext, Output, WatermarkingOperator } from '../port/operator.ts'
import type { WatermarkGenerator } from '../port/watermark-generator.ts'
import { GeneratedWatermark } from './generated-watermark.ts'

/** The event time of records and the rule of watermarks; a `WatermarkStrategy` is one. */
export interface TimestampRule<T> {
  readonly timestampOf: (value: T, recordTimestamp: number) => number
  readonly outOfOrdernessMs: number | undefined
  readonly idleAfterMs: number | undefined
  readonly createGenerator?: (() => WatermarkGenerator<T>) | undefined
}

/**
 * An operator that gives records new timestamps and makes watermarks: those of its generator, or the largest
 * timestamp of this subtask so far, minus the bound, minus one. Without both it makes none.
 */
export class TimestampsAndWatermarksOperator<T>
  extends AbstractOperator
  implements WatermarkingOperator
{
  private readonly rule: TimestampRule<T>
  private readonly generated: GeneratedWatermark<T> | undefined
  private output!: Output
  private largest = MIN_TIMESTAMP
  private incoming = MIN_TIMESTAMP
  private lastRecordMs = 0

  constructor(rule: TimestampRule<T>) {
    super()
    this.rule = rule
    const { createGenerator } = rule
    this.generated = createGenerator && new GeneratedWatermark(createGenerator())
  }

  override open(context: OperatorContext): void {
    this.context = context
    this.output = context.output
    this.lastRecordMs = context.clock.monotonicMs()
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const eventTime: unknown = this.rule.timestampOf(value as T, timestamp)
    requireTime(eventTime, 'the result of timestampOf')
    this.emit(value as T, eventTime)
  }

  private emit(value: T, eventTime: number): void {
    if (eventTime > this.largest) this.largest = eventTime
    if (this.rule.idleAfterMs !== undefined) this.lastRecordMs = this.context.clock.monotonicMs()
    this.output.collect(value, eventTime)
    if (this.generated?.onEvent(value, eventTime) === true) this.context.pollWatermark?.()
  }

  override processWatermark(watermark: number): void {
    this.incoming = watermark
  }

  outputWatermark(): number {
    if (this.incoming >= MAX_TIMESTAMP) return MAX_TIMESTAMP
    if (this.generated !== undefined) {
      this.generated.onPeriodicEmit()
      return this.generated.watermark
    }
    if (this.rule.outOfOrdernessMs === undefined || this.largest === MIN_TIMESTAMP) {
      return MIN_TIMESTAMP
    }
    return this.largest - this.rule.outOfOrdernessMs - 1
  }

  outputIdle(): boolean {
    const { idleAfterMs } = this.rule
    if (this.generated?.idle === true) return true
    if (idleAfterMs === undefined) return false
    return this.context.clock.monotonicMs() - this.lastRecordMs >= idleAfterMs
  }
}
