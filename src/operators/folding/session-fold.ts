import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import { isEventTime } from '../port/event-time.ts'
import type { SessionWindows } from '../windows/assigner.ts'
import { PartFold, type PartFoldOptions, type WaitingPart } from './part-fold.ts'
import { PartsByKey } from './parts-by-key.ts'

/** Options of a fold of sessions. */
export interface SessionFoldOptions<IN, ACC> extends PartFoldOptions<IN, ACC> {
  readonly windows: SessionWindows
}

/**
 * Folds the records of sessions before they cross an edge: one part for the records of a key that follow each other
 * within the gap. A part is the session of its records, so it merges with others as they would.
 *
 * A record that the receiver may find late is sent as it is: whether it counts depends on the sessions that it meets.
 * The receiver's watermark is at most the last one of this sender, until the sender is idle for the first time.
 */
export class SessionFold<IN, ACC> extends PartFold<IN, ACC> {
  private readonly windows: SessionWindows
  private readonly isEventTime: boolean
  private readonly parts: PartsByKey<WaitingPart<ACC>>
  private watermark = MIN_TIMESTAMP

  constructor(options: SessionFoldOptions<IN, ACC>) {
    super(options, true)
    this.windows = options.windows
    this.isEventTime = options.windows.timeDomain === 'event-time'
    this.parts = new PartsByKey(options.keySerializer)
  }

  override afterWatermark(watermark: number): void {
    super.afterWatermark(watermark)
    this.watermark = watermark
  }

  override afterIdle(): void {
    if (this.isEventTime) this.worth.end()
  }

  protected place(key: unknown, value: IN, timestamp: number): boolean {
    if (this.isEventTime && !isEventTime(timestamp)) return false
    const start = this.isEventTime ? timestamp : 0
    const gapMs = this.windows.gapMs(value)
    const end = Math.min(start + gapMs, MAX_TIMESTAMP)
    if (this.isEventTime && end - 1 <= this.watermark) return false
    if (!this.mayFold(key, value, start, gapMs)) return false
    const found = this.parts.find(key)
    if (found === undefined || !this.extend(found, start, end)) {
      this.parts.put(this.beginSession(key, value, start, end))
    } else this.fold(found, value)
    return true
  }

  protected forget(): void {
    this.parts.clear()
  }

  private beginSession(key: unknown, value: IN, start: number, end: number): WaitingPart<ACC> {
    const part = this.begin(key, value, start)
    part.spanMs = end - start
    return part
  }

  /** Makes the session of a part longer by a window that touches it; false where it does not. */
  private extend(part: WaitingPart<ACC>, start: number, end: number): boolean {
    const { timestamp } = part
    const partEnd = timestamp + part.spanMs
    if (start > partEnd || end < timestamp) return false
    part.timestamp = Math.min(start, timestamp)
    part.spanMs = Math.max(end, partEnd) - part.timestamp
    return true
  }
}
