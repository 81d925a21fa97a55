import type { EntryTimers } from '../../state/port/entry-timers.ts'
import {
  type AlignedWindows,
  lastWindowStart,
  type TimeWindow,
  type WindowAssigner,
} from './assigner.ts'
import { type RecordInWindows, WindowOperator, type WindowOptions } from './operator.ts'

/** The base of operators whose windows have bounds that no other record changes. */
export abstract class BoundedWindowOperator<K, IN> extends WindowOperator<K, IN> {
  protected override selectContents(window: TimeWindow): void {
    this.keyedState.setCurrentNamespace(this.namespaces.of(window.start, window.end))
  }

  protected override openEntryTimers(): EntryTimers | undefined {
    return this.timers.ofEntries(this.options.timeDomain, this.contents.descriptor)
  }

  /** A timer has the namespace of the contents. */
  protected override selectFiring(_window: TimeWindow): void {}

  /** Sets the timer that clears a window which stays after it has fired. */
  protected override afterContents({ end }: TimeWindow, timestamp: number, isEmpty: boolean): void {
    const clearTime = this.clearTimeOf(end)
    if (timestamp >= clearTime || this.options.timeDomain === 'processing-time') return
    // An entry that is not there cannot have the timer.
    this.timers.registerEventTimeTimer(clearTime, isEmpty ? undefined : this.entryTimers)
  }

  /** Sets the next timer of a window: that of its end, and behind it the one that clears it. */
  protected registerNext(end: number): void {
    if (this.options.timeDomain === 'processing-time') {
      this.timers.registerProcessingTimeTimer(end - 1, this.entryTimers)
    } else {
      const next = this.isPast(end) ? this.clearTimeOf(end) : end - 1
      this.timers.registerEventTimeTimer(next, this.entryTimers)
    }
  }

  /** Adds a record to a window that is not late. */
  protected add(start: number, end: number, value: IN): void {
    this.keyedState.setLastingNamespace(this.namespaces.of(start, end))
    if (this.contents.add(value) || this.mayLackTimers(end)) this.registerNext(end)
    if (this.isPast(end)) this.fire({ start, end })
  }
}

/** The operator of tumbling and sliding windows, whose bounds depend only on the record's time. */
export class AlignedWindowOperator<K, IN> extends BoundedWindowOperator<K, IN> {
  private readonly windows: AlignedWindows

  constructor(windows: AlignedWindows, options: Omit<WindowOptions<K, IN>, 'timeDomain'>) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.windows = windows
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.former?.unpack()
    this.countPart(value)
    const time = this.timeOf(value as IN, timestamp)
    if (time !== undefined) this.addRecord(value as IN, timestamp, time)
  }

  protected windowKind(): WindowAssigner['kind'] {
    return 'aligned'
  }

  protected override addToWindows(record: RecordInWindows<IN>, most: number): boolean {
    const { sizeMs, slideMs } = this.windows
    const { value, time } = record
    let start = lastWindowStart(this.windows, time) - record.windows * slideMs
    for (let left = most; left > 0; left--) {
      if (start <= time - sizeMs) return true
      if (this.isLate(start + sizeMs)) {
        if (record.windows === 0) this.drop(value, record.timestamp)
        return true
      }
      this.add(start, start + sizeMs, value)
      record.windows += 1
      start -= slideMs
    }
    return start <= time - sizeMs
  }
}
