import type { EntryTimers } from '../../state/port/entry-timers.ts'
import {
  type AlignedWindows,
  lastWindowStart,
  type TimeWindow,
  type WindowAssigner,
} from './assigner.ts'
import { WindowOperator, type WindowOptions } from './operator.ts'

/** The operator of tumbling and sliding windows, whose bounds depend only on the record's time. */
export class AlignedWindowOperator<K, IN> extends WindowOperator<K, IN> {
  private readonly windows: AlignedWindows

  constructor(windows: AlignedWindows, options: Omit<WindowOptions<K, IN>, 'timeDomain'>) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.windows = windows
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.countPart(value)
    const { sizeMs, slideMs } = this.windows
    const time = this.timeOf(timestamp)
    let taken = false
    let late = false
    for (let start = lastWindowStart(this.windows, time); start > time - sizeMs; start -= slideMs) {
      if (this.isLate(start + sizeMs)) {
        late = true
        break
      }
      this.add(start, start + sizeMs, value as IN)
      taken = true
    }
    if (late && !taken) this.drop(value as IN, timestamp)
  }

  protected windowKind(): WindowAssigner['kind'] {
    return 'aligned'
  }

  protected override selectContents(window: TimeWindow): void {
    this.keyedState.setCurrentNamespace(this.namespaces.of(window.start, window.end))
  }

  protected override openEntryTimers(): EntryTimers | undefined {
    return this.timers.ofEntries(this.windows.timeDomain, this.contents.descriptor)
  }

  /** A timer has the namespace of the contents. */
  protected override selectFiring(): void {}

  protected override afterContents(window: TimeWindow, timestamp: number): void {
    if (this.mayLackClearing(window, timestamp)) {
      this.timers.registerEventTimeTimer(this.clearTimeOf(window.end))
    }
  }

  private add(start: number, end: number, value: IN): void {
    this.keyedState.setLastingNamespace(this.namespaces.of(start, end))
    if (this.contents.add(value) || this.mayLackTimers(end)) this.registerTimers(end)
    if (this.isPast(end)) this.fire({ start, end })
  }
}
