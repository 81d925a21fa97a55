import { WeirError } from '../../core/errors.ts'
import { readableKeyOfBytes } from '../../core/formats/key-text.ts'
import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import type { Counter } from '../../core/metrics.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import { valueState } from '../../state/port/descriptors.ts'
import type { EntryTimers } from '../../state/port/entry-timers.ts'
import type { LiveValueState } from '../../state/port/handles.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { Timer } from '../../state/port/timer-queue.ts'
import { AbstractOperator } from '../port/abstract-operator.ts'
import { withoutEventTime } from '../port/event-time.ts'
import type { FiringOperator } from '../port/firing.ts'
import type { OperatorContext } from '../port/operator.ts'
import { requireKeyedState } from '../process/context.ts'
import { Timers, type TimerTarget } from '../process/timers.ts'
import type { FeatureDefinition, FeatureValues } from './definition.ts'
import { type FeaturePlan, hasTiles } from './plan.ts'
import type { FeatureRow } from './row.ts'
import { rowSerializer } from './row-serializer.ts'

/** Timers of rows are at so many moments of the retention, at least a second apart. */
const GRAINS = 100
const LEAST_GRAIN_MS = 1_000

/** What queries of features see, and when. */
export interface FeatureView {
  readonly queryableName: string
  /** `row`: an object of the values by their names. `vector`: float32 in the order of the definition. */
  readonly as: 'row' | 'vector'
  /** In a vector, what stands for a value that is null. */
  readonly missing: number
  /** `now`: as of the wall clock. `event-time`: as of the watermark, or the newest event of the key if it is newer. */
  readonly readAt: 'now' | 'event-time'
}

/** What the operator of features does. */
export interface FeaturesWork<T, D extends FeatureDefinition<T>> {
  /** Makes a plan of the subtask's own. */
  readonly plan: () => FeaturePlan<T, D>
  readonly view?: FeatureView
  /** Makes the result of an event from the features strictly before it; without it nothing is emitted. */
  readonly join?: (event: T, features: FeatureValues<D>) => unknown
}

/**
 * An operator that folds the events of each key into one row of features. An event belongs to the tile of its event time,
 * however late it is, while a window can still reach it. A row leaves when its key has had no event for the retention. An event of
 * which no feature takes anything changes no row.
 */
export class FeaturesOperator<T, D extends FeatureDefinition<T>>
  extends AbstractOperator
  implements TimerTarget, FiringOperator
{
  private readonly work: FeaturesWork<T, D>
  private readonly plan: FeaturePlan<T, D>
  private readonly eventTime: boolean
  private keyedState!: KeyedState
  private rows!: LiveValueState<FeatureRow>
  private timers!: Timers
  private entryTimers: EntryTimers | undefined
  private dropped!: Counter
  private hasWarned = false
  private readonly where = (): string =>
    `operator "${this.context.name}", key ${readableKeyOfBytes(this.keyedState.currentKey())},`

  constructor(work: FeaturesWork<T, D>, eventTime: boolean) {
    super()
    this.work = work
    this.plan = work.plan()
    this.eventTime = eventTime
  }

  override open(context: OperatorContext): void {
    this.context = context
    this.keyedState = requireKeyedState(context)
    const { view } = this.work
    const descriptor = {
      ...valueState<FeatureRow>('features', { serializer: rowSerializer(this.plan.features) }),
      ...(view === undefined ? {} : this.queried(view)),
    }
    this.rows = this.keyedState.liveValue(descriptor)
    this.timers = new Timers(context, this, { eventTime: this.eventTime, ofFunctions: false })
    this.entryTimers = this.timers.ofEntries('event-time', descriptor)
    this.dropped = context.metrics.counter('numLateRecordsDropped')
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const { plan, rows } = this
    const event = value as T
    if (!hasTiles(timestamp)) this.warnOfTime(timestamp)
    if (!hasTiles(timestamp) || this.isTooLate(timestamp)) {
      this.dropped.increment()
      return
    }
    this.refuseAhead(timestamp)
    // All values are taken before the row changes: an event that is refused leaves no part of itself.
    const isTaken = plan.take(event, this.where)
    const row = (isTaken ? rows.valueToChange() : rows.value()) ?? plan.newRow()
    // The result has the features before the event; where its function throws, the row is as it was.
    const result = this.work.join?.(event, plan.read(row, timestamp))
    if (isTaken) this.fold(row, timestamp)
    if (this.work.join !== undefined) this.context.output.collect(result, timestamp)
  }

  /** Adds what the plan has taken to the row of the current key. */
  private fold(row: FeatureRow, timestamp: number): void {
    const { plan, rows, timers } = this
    plan.fold(row, timestamp)
    const needsTimer = row.timer < row.newest && timers.currentWatermark < MAX_TIMESTAMP
    const end = this.timerOf(row)
    if (needsTimer) row.timer = end
    rows.update(row)
    // A timer may belong to its entry, which must exist.
    if (needsTimer) timers.registerEventTimeTimer(end, this.entryTimers)
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

  /** Removes the row of a key that has had no event for the retention; one with newer events gets its next timer. */
  onEventTimer({ timestamp }: Timer): void {
    const row = this.rows.valueToChange()
    if (row === undefined) return
    const end = this.timerOf(row)
    // The end of the input makes each timer due: the rows stay as they are.
    const isAtEnd = this.timers.currentWatermark === MAX_TIMESTAMP
    if (end <= timestamp && !isAtEnd) {
      this.rows.clear()
      return
    }
    row.timer = isAtEnd ? Number.NEGATIVE_INFINITY : end
    this.rows.update(row)
    if (!isAtEnd) this.timers.registerEventTimeTimer(end, this.entryTimers)
  }

  onProcessingTimer(): void {}

  /** When the row leaves unless its key has a newer event: a little late, so that many rows share a moment. */
  private timerOf({ newest }: FeatureRow): number {
    const { retentionMs } = this.plan
    const grain = Math.max(LEAST_GRAIN_MS, Math.floor(retentionMs / GRAINS))
    return Math.ceil((newest + retentionMs) / grain) * grain
  }

  /** Throws INVALID_ARGUMENT for an event that is further ahead of the wall clock than the features allow. */
  private refuseAhead(timestamp: number): void {
    const { maxAheadMs } = this.plan
    if (maxAheadMs === undefined) return
    const ahead = timestamp - this.context.clock.nowMs()
    if (ahead <= maxAheadMs) return
    throw new WeirError(
      'INVALID_ARGUMENT',
      `an event of ${this.where()} has the time ${new Date(timestamp).toISOString()}, ${ahead} ms ahead of the wall clock, and maxAhead is ${maxAheadMs} ms: correct the timestampOf of the source or the clock of this machine, or leave such events out with onError('skip')`,
    )
  }

  /** Whether no window of a row can reach an event. */
  private isTooLate(timestamp: number): boolean {
    return timestamp < this.timers.currentWatermark - this.plan.retentionMs
  }

  private warnOfTime(timestamp: number): void {
    if (this.hasWarned) return
    this.hasWarned = true
    const receiver = `the features "${this.context.name}"`
    this.context.warn?.(withoutEventTime({ timestamp, receiver, operatorUid: this.context.uid }))
  }

  /** The part of the descriptor that makes rows queryable. */
  private queried({ queryableName, as, missing, readAt }: FeatureView) {
    const { plan, context } = this
    const values = msgpackSerializer<unknown>()
    return {
      queryableName,
      queryView: {
        write(row: FeatureRow, nowMs: number, writer: Parameters<typeof values.write>[1]): void {
          const watermark = context.currentWatermark()
          const eventTime = watermark === MAX_TIMESTAMP ? row.newest : watermark
          const at = readAt === 'now' ? nowMs : eventTime
          values.write(
            as === 'row' ? plan.read(row, at) : plan.readVector(row, at, missing),
            writer,
          )
        },
      },
    }
  }
}
