import { type ByteSpan, emptySpan } from '../../../core/byte-span.ts'
import { keyGroupOf } from '../../../core/key-group.ts'
import { NO_SOURCE_KEY_GROUP } from '../../../models/als/online/model-delta.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { DeltaWindow, type DeltaWindowOptions } from './delta-window.ts'

/** A delta on its way to the deltas topic. */
export interface OutgoingDelta {
  /** `<id>-I` */
  key: ByteSpan
  version: number
  /** Key group of the user, `NO_SOURCE_KEY_GROUP` for sums. */
  sourceKeyGroup: number
  /** Partition and offset of the rating; of sums, those of the last one. */
  partition: number
  offset: number
  /** Of the attempt that learned the rating (`InFlightLimit`); 0 for sums. */
  attemptTag: number
  /** Phase of learning that the rating belongs to (`LearningPhase`). */
  phase: number
  values: Float32Array
}

/** What a delta is sent with, besides its values. */
export interface DeltaOf {
  readonly version: number
  readonly phase: number
  /** Of the attempt that counts the rating. */
  readonly attemptTag: number
}

/** Sends deltas one by one, or their sums at the end of a window. */
export class DeltaSender {
  private readonly context: OperatorContext
  private readonly options: DeltaWindowOptions | undefined
  private readonly window: DeltaWindow | undefined
  private readonly outgoing: OutgoingDelta
  private dueMs = Number.POSITIVE_INFINITY
  /** Version and phase of the deltas that wait in the window. */
  private waitingFor = { version: 0, phase: 0 }
  /** Where the last rating of the window is. */
  private readonly lastRating = { partition: 0, offset: 0 }

  constructor(context: OperatorContext, window: DeltaWindowOptions | undefined) {
    this.context = context
    this.options = window
    this.window = window === undefined ? undefined : new DeltaWindow(window)
    const none = { key: emptySpan(), version: 0, sourceKeyGroup: 0, partition: 0, offset: 0 }
    this.outgoing = { ...none, attemptTag: 0, phase: 0, values: new Float32Array(0) }
  }

  /** Sends the delta of an item that a rating of a user results in. */
  send(
    of: DeltaOf,
    item: ByteSpan,
    values: Float32Array,
    user: Uint8Array,
    timestamp: number,
  ): void {
    const { window, outgoing, context } = this
    if (window !== undefined) {
      this.gather(of, window, item, values)
      return
    }
    const { partition, offset } = context.position()
    outgoing.key = item
    outgoing.version = of.version
    outgoing.phase = of.phase
    outgoing.sourceKeyGroup = keyGroupOf(user, context.maxParallelism)
    outgoing.partition = partition
    outgoing.offset = offset
    outgoing.attemptTag = of.attemptTag
    outgoing.values = values
    context.output.collect(outgoing, timestamp)
  }

  /** Whether the window has waited long enough. */
  isDue(timestampMs: number): boolean {
    return timestampMs >= this.dueMs
  }

  /** Sends the sums of the window. */
  flush(): void {
    this.dueMs = Number.POSITIVE_INFINITY
    const { window, outgoing, context } = this
    if (window === undefined || window.waiting === 0) return
    const { partition, offset } = this.lastRating
    window.drain(({ key, values }) => {
      outgoing.key = key
      outgoing.version = this.waitingFor.version
      outgoing.phase = this.waitingFor.phase
      outgoing.sourceKeyGroup = NO_SOURCE_KEY_GROUP
      outgoing.partition = partition
      outgoing.offset = offset
      outgoing.values = values
      context.output.collect(outgoing, context.clock.nowMs())
    })
  }

  private gather(
    { version, phase }: DeltaOf,
    window: DeltaWindow,
    item: ByteSpan,
    values: Float32Array,
  ): void {
    const { waitingFor } = this
    if (version !== waitingFor.version || phase !== waitingFor.phase) this.flush()
    waitingFor.version = version
    waitingFor.phase = phase
    const { partition, offset } = this.context.position()
    this.lastRating.partition = partition
    this.lastRating.offset = offset
    if (window.waiting === 0) {
      this.dueMs = this.context.clock.nowMs() + this.options!.intervalMs
      this.context.scheduleProcessingTime(this.dueMs)
    }
    if (window.add(item, values)) this.flush()
  }
}
