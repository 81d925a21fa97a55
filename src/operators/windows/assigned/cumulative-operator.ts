import type { EntryTimers } from '../../../state/port/entry-timers.ts'
import { BoundedWindowOperator } from '../aligned-operator.ts'
import type { CumulativeWindows, TimeWindow, WindowAssigner } from '../assigner.ts'
import type { WindowOptions } from '../operator.ts'
import { cumulativeStart } from './assigners.ts'

/**
 * The operator of cumulative windows in event time without allowed lateness. A record is in the first of its windows that has
 * not fired; a window that fires passes its contents to the next one. So a record costs as much as in a window of fixed
 * size, and a step one merge a key.
 */
export class CumulativeWindowOperator<K, IN> extends BoundedWindowOperator<K, IN> {
  private readonly windows: CumulativeWindows

  constructor(windows: CumulativeWindows, options: Omit<WindowOptions<K, IN>, 'timeDomain'>) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.windows = windows
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const time = this.timeOf(value as IN, timestamp)
    if (time === undefined) return
    const { stepMs, maxSizeMs } = this.windows
    const start = cumulativeStart(this.windows, time)
    const from = Math.max(time, Math.min(this.timers.currentWatermark + 1, start + maxSizeMs - 1))
    const end = start + (Math.floor((from - start) / stepMs) + 1) * stepMs
    if (this.isLate(end)) this.drop(value as IN, timestamp)
    else this.add(start, end, value as IN)
  }

  protected windowKind(): WindowAssigner['kind'] {
    return 'cumulative'
  }

  /** The contents move on when a timer fires: timers are not those of their entries. */
  protected override openEntryTimers(): EntryTimers | undefined {
    return undefined
  }

  protected override onWindowTimer(window: TimeWindow, timestamp: number): void {
    const { start, end } = window
    const next = { start, end: end + this.windows.stepMs }
    const isLast = next.end > start + this.windows.maxSizeMs
    this.selectContents(window)
    const elements = isLast ? this.contents.take() : this.contents.read()
    if (elements === undefined) return
    this.emit(window, timestamp, elements)
    if (!isLast) this.pass(window, next)
    this.clearFunction(window, timestamp)
  }

  /** Moves the contents of a window in front of those of the next one. */
  private pass(window: TimeWindow, next: TimeWindow): void {
    const [from, into] = [window, next].map(({ start, end }) => this.namespaces.of(start, end))
    this.contents.merge(from!, [into!])
    this.contents.merge(into!, [from!])
    this.selectContents(next)
    this.timers.registerEventTimeTimer(next.end - 1)
  }
}
