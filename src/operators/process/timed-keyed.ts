import { flag } from '../../core/options/kinds.ts'
import { serializer } from '../../core/options/ports.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import type { Timer } from '../../state/port/timer-queue.ts'
import { timestampOfResults } from '../port/event-time.ts'
import type { FiringOperator } from '../port/firing.ts'
import type { OperatorContext } from '../port/operator.ts'
import { refuseResult } from '../port/refuse-result.ts'
import { KeyedOperatorContext } from './context.ts'
import type { Collector, KeyedFunctionContext, OnTimerContext, TimeDomain } from './function.ts'
import type { RichFunction } from './function-life.ts'
import { Timers, type TimerTarget } from './timers.ts'
import { TimestampedCollector } from './timestamped-collector.ts'
import { UserFunctionOperator } from './user-function-operator.ts'

/** The part of a keyed function that this base calls. */
interface TimedFunction<K, OUT> extends RichFunction<KeyedFunctionContext> {
  onTimer?(timestamp: number, context: OnTimerContext<K>, out: Collector<OUT>): void
}

/** The base of operators of keyed functions: context, timers, open and close. */
export abstract class TimedKeyedOperator<
    K,
    OUT,
    F extends TimedFunction<K, OUT>,
    C extends KeyedOperatorContext<K> = KeyedOperatorContext<K>,
  >
  extends UserFunctionOperator<F>
  implements TimerTarget, FiringOperator
{
  protected functionContext!: C
  protected collector!: TimestampedCollector
  private readonly keySerializer: Serializer<K>
  private readonly eventTime: boolean
  private timers!: Timers

  /** `eventTime`: whether watermarks reach the operator. If not, event-time timers are refused. */
  constructor(userFunction: F, keySerializer: Serializer<K>, eventTime: boolean) {
    super(userFunction)
    const call = `new ${new.target.name}`
    checkArgument(call, 'keySerializer', serializer<K>(), keySerializer)
    checkArgument(call, 'eventTime', flag, eventTime)
    this.keySerializer = keySerializer
    this.eventTime = eventTime
  }

  override open(context: OperatorContext): void | Promise<void> {
    this.context = context
    this.functionContext = this.createContext(context, this.keySerializer)
    this.collector = new TimestampedCollector(context.output)
    this.timers = new Timers(context, this, { eventTime: this.eventTime, ofFunctions: true })
    this.functionContext.setTimers(this.timers)
    return this.openFunction(this.functionContext)
  }

  override processWatermark(watermark: number): void {
    this.timers.advanceWatermark(watermark)
  }

  override onProcessingTime(timestampMs: number): void {
    this.timers.advanceProcessingTime(timestampMs)
  }

  get firingAt(): number | undefined {
    return this.timers.firingAt
  }

  fireDue(most: number): number {
    return this.timers.fireDue(most)
  }

  onEventTimer(timer: Timer): void {
    this.fire(timer, 'event-time')
  }

  onProcessingTimer(timer: Timer): void {
    this.fire(timer, 'processing-time')
  }

  /** Creates the context object. A subclass can return one with more members. */
  protected createContext(context: OperatorContext, keySerializer: Serializer<K>): C {
    return new KeyedOperatorContext(context, keySerializer) as C
  }

  private fire(timer: Timer, domain: TimeDomain): void {
    const context = this.functionContext
    const timestamp = timestampOfResults(timer.timestamp)
    context.begin(timestamp)
    context.timeDomain = domain
    this.collector.timestamp = domain === 'event-time' ? timestamp : NO_TIMESTAMP
    const result: unknown = this.userFunction.onTimer?.(timer.timestamp, context, this.collector)
    if (result !== undefined) refuseResult(result, 'onTimer')
  }
}
