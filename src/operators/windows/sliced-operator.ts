import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { EntryTimers } from '../../state/port/entry-timers.ts'
import {
  type AlignedWindows,
  lastWindowStart,
  type TimeWindow,
  type WindowAssigner,
} from './assigner.ts'
import type { SliceContents } from './contents.ts'
import { type RecordInWindows, WindowOperator, type WindowOptions } from './operator.ts'

/**
 * The operator of sliding event-time windows that share slices as long as the slide. A key has one timer for the
 * next of its windows that has records, and one for the next to be cleared where late records are allowed: each
 * sets its successor.
 */
export class SlicedWindowOperator<K, IN> extends WindowOperator<K, IN, SliceContents<IN>> {
  private readonly windows: AlignedWindows

  constructor(
    windows: AlignedWindows,
    options: Omit<WindowOptions<K, IN, SliceContents<IN>>, 'timeDomain'>,
  ) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.windows = windows
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.former?.unpack()
    this.countPart(value)
    const time = this.timeOf(value as IN, timestamp)
    if (time === undefined) return
    const start = lastWindowStart(this.windows, time)
    if (this.isLate(start + this.windows.sizeMs)) {
      this.drop(value as IN, timestamp)
      return
    }
    const slicing = this.contents.add(start, value as IN, this.windows.sizeMs)
    const keepsLate = this.options.allowedLatenessMs > 0
    // Without lateness, an earlier slice has a timer, whose successors come to this slice.
    const isNew = slicing === 'first-slice' || (keepsLate && slicing === 'later-slice')
    if (isNew || this.mayLackTimers(start + this.windows.slideMs)) {
      this.registerFirst(start)
    }
    if (keepsLate) this.addRecord(value as IN, timestamp, start)
  }

  /** Fires the windows with the slice of the record that fired before and are not cleared. */
  protected override addToWindows(record: RecordInWindows<IN>, most: number): boolean {
    const { sizeMs, slideMs } = this.windows
    let start = record.time - record.windows * slideMs
    for (let left = most; left > 0; left--) {
      const window = { start, end: start + sizeMs }
      if (start <= record.time - sizeMs || this.isLate(window.end)) return true
      record.windows += 1
      start -= slideMs
      if (!this.isPast(window.end)) continue
      this.selectContents(window)
      this.fire(window)
    }
    return start <= record.time - sizeMs
  }

  protected windowKind(): WindowAssigner['kind'] {
    return 'aligned'
  }

  protected override openEntryTimers(): EntryTimers | undefined {
    // Slices that are kept after their windows have fired have two timers.
    if (this.options.allowedLatenessMs > 0) return undefined
    const { timeDomain, sizeMs } = this.windows
    return this.timers.ofEntries(timeDomain, this.contents.descriptor, (timestamp) =>
      this.namespaces.of(timestamp + 1 - sizeMs, timestamp + 1),
    )
  }

  protected override selectContents(window: TimeWindow): void {
    this.contents.select(window, this.namespaces.of(window.start, window.end))
  }

  /** Sets the timer of the next window that has a slice. */
  protected override afterContents(window: TimeWindow, timestamp: number): void {
    // A window from before a restore may have another size.
    if (this.mayLackClearing(window, timestamp)) {
      this.registerIn(window, this.clearTimeOf(window.end))
    }
    const slice = this.contents.nextSlice()
    if (slice === undefined) return
    const { sizeMs, slideMs } = this.windows
    const start = lastWindowStart(this.windows, Math.max(window.start, slice - sizeMs)) + slideMs
    const end = start + sizeMs
    // A timer of another lateness, which the job had before a restore, has successors for what had fired by then.
    const isFormer = timestamp !== window.end - 1 && timestamp !== this.clearTimeOf(window.end)
    if (isFormer && end - 1 > this.timers.firedUpTo) return
    const next = Math.min(timestamp - window.end + end, MAX_TIMESTAMP)
    if (isFormer) this.registerIn({ start, end }, next)
    else this.registerAt(start, next)
  }

  /** Sets the timers of the first windows with the slice that have still to fire and to be cleared. */
  private registerFirst(slice: number): void {
    const { sizeMs, slideMs } = this.windows
    let start = slice - sizeMs + slideMs
    while (this.isLate(start + sizeMs)) start += slideMs
    if (this.options.allowedLatenessMs > 0) {
      this.registerAt(start, this.clearTimeOf(start + sizeMs))
    }
    while (start <= slice && this.isPast(start + sizeMs)) start += slideMs
    if (start <= slice) this.registerAt(start, start + sizeMs - 1)
  }

  private registerAt(start: number, timestamp: number): void {
    if (this.entryTimers !== undefined) {
      this.timers.registerEventTimeTimer(timestamp, this.entryTimers)
      return
    }
    this.registerIn({ start, end: start + this.windows.sizeMs }, timestamp)
  }

  private registerIn({ start, end }: TimeWindow, timestamp: number): void {
    this.keyedState.setCurrentNamespace(this.namespaces.of(start, end))
    this.timers.registerEventTimeTimer(timestamp)
  }
}
