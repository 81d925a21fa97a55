import { BoundedWindowOperator } from '../aligned-operator.ts'
import type { AssignedWindows, TimeWindow, WindowAssigner } from '../assigner.ts'
import type { RecordInWindows, WindowOptions } from '../operator.ts'

/** The operator of windows that a function assigns, by descending end. */
export class AssignedWindowOperator<K, IN> extends BoundedWindowOperator<K, IN> {
  private readonly windows: AssignedWindows
  /** The windows of the present record. */
  private assigned: readonly TimeWindow[] = []

  constructor(windows: AssignedWindows, options: Omit<WindowOptions<K, IN>, 'timeDomain'>) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.windows = windows
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const time = this.timeOf(value as IN, timestamp)
    if (time === undefined) return
    this.assigned = this.windows.assign(time, value)
    this.addRecord(value as IN, timestamp, time)
  }

  protected windowKind(): WindowAssigner['kind'] {
    return 'assigned'
  }

  protected override addToWindows(record: RecordInWindows<IN>, most: number): boolean {
    for (let left = most; left > 0; left--) {
      const window = this.assigned[record.windows]
      if (window === undefined) return true
      // Those behind it end before it.
      if (this.isLate(window.end)) {
        if (record.windows === 0) this.drop(record.value, record.timestamp)
        return true
      }
      this.add(window.start, window.end, record.value)
      record.windows += 1
    }
    return record.windows === this.assigned.length
  }
}
