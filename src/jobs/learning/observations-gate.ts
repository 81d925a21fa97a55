import type { Counter } from '../../core/metrics.ts'
import { checkOptions } from '../../core/options/shape.ts'
import type { ModelTopicRecord } from '../../models/topic/record.ts'
import type { OperatorContext } from '../../operators/port/operator.ts'
import { LearningGate } from './gate.ts'
import type { GateOrder } from './messages.ts'
import { ResumeOffsets } from './resume-offsets.ts'
import { SAME_EVENT, type SameEventOptions, SeenEvents } from './seen-events.ts'

/** Operator state with the entries of `ResumeOffsets.snapshot`. */
export const LEARNING_PLACES = 'learning-places'
/** Operator state with the entries of `SeenEvents.snapshot`. */
export const SEEN_EVENTS = 'seen-events'

/**
 * A gate that reads observations. A version that goes live resumes in each partition where its training,
 * or its learning before, ended. An observation that a producer sent again is left out (`SeenEvents`).
 */
export abstract class ObservationsGate extends LearningGate {
  /** Undefined where no source is in the operator's chain. */
  protected resumeOffsets: ResumeOffsets | undefined
  private readonly sameEvent: SameEventOptions
  private seen: SeenEvents | undefined
  private repeated!: Counter

  /** `mostInFlight`: as that of `LearningGate`. Throws INVALID_ARGUMENT. */
  constructor(mostInFlight?: number, sameEvent: SameEventOptions = {}) {
    super(mostInFlight)
    checkOptions('new ObservationsGate', SAME_EVENT, sameEvent)
    this.sameEvent = sameEvent
  }

  override open(context: OperatorContext): void {
    super.open(context)
    const { source, operatorState } = context
    const { eventId, eventWindow } = this.sameEvent
    this.repeated = context.metrics.counter('observationsRepeated')
    const restored = operatorState.restored(SEEN_EVENTS)
    if (eventId !== undefined) this.seen = new SeenEvents(eventId, eventWindow, restored)
    if (source === undefined) return
    source.appliesTo(undefined)
    this.resumeOffsets = new ResumeOffsets(source, operatorState.restored(LEARNING_PLACES))
  }

  protected override letThrough({ version, resumeOffsets }: GateOrder): void {
    this.resumeOffsets?.switchTo(version, resumeOffsets)
    this.context.source?.appliesTo(version)
  }

  /** Whether an observation, at the current position, is an event that came before; it is then counted. */
  protected isRepeated(record: ModelTopicRecord): boolean {
    const isRepeated = this.seen?.isRepeated(record, this.context.position()) === true
    if (isRepeated) this.repeated.increment()
    return isRepeated
  }

  /** Forgets the lines of one user among the events that came in the current partition. */
  protected forgetEvents(isOwn: (line: Uint8Array) => boolean): void {
    this.seen?.forget(this.context.position().partition, isOwn)
  }

  override prepareSnapshot(): void {
    const { operatorState, source } = this.context
    if (this.seen !== undefined) {
      const read = source?.positions().map(({ partition }) => partition)
      operatorState.update(SEEN_EVENTS, 'union', this.seen.snapshot(read))
    }
    if (this.resumeOffsets === undefined) return
    operatorState.update(LEARNING_PLACES, 'union', this.resumeOffsets.snapshot())
  }
}
