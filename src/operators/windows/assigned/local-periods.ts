import type { TimeWindow } from '../assigner.ts'
import { ZoneClock } from './zone-clock.ts'

/** Windows that are kept in memory: neighbouring records have the same ones, and each costs some microseconds. */
const MOST_KEPT = 16

/**
 * Windows of equal length on the clocks of a zone. A window begins when clocks first show its start or a later time: so
 * each moment is in one window, also where clocks go back over the start of one.
 */
export class LocalPeriods {
  private readonly clock: ZoneClock
  private readonly sizeMs: number
  private readonly offsetMs: number
  private readonly kept: TimeWindow[] = []
  private last: TimeWindow = { start: 0, end: 0 }
  private next = 0

  /** `sizeMs`, `offsetMs`: length of a window, and shift of a start against 1970-01-01, ms of local time. */
  constructor(zone: string, sizeMs: number, offsetMs: number) {
    this.clock = new ZoneClock(zone)
    this.sizeMs = sizeMs
    this.offsetMs = offsetMs
  }

  /** The window of a moment, ms since 1970. */
  at(time: number): TimeWindow {
    if (!isIn(this.last, time)) {
      this.last = this.kept.find((window) => isIn(window, time)) ?? this.create(time)
    }
    return this.last
  }

  private create(time: number): TimeWindow {
    const { clock, sizeMs, offsetMs } = this
    let from = Math.floor((clock.localAt(time) - offsetMs) / sizeMs) * sizeMs + offsetMs
    let end = clock.firstAt(from + sizeMs)
    // Clocks that went back may show the time of a window that has ended.
    while (end <= time) {
      from += sizeMs
      end = clock.firstAt(from + sizeMs)
    }
    const window = { start: clock.firstAt(from), end }
    this.kept[this.next] = window
    this.next = (this.next + 1) % MOST_KEPT
    return window
  }
}

function isIn({ start, end }: TimeWindow, time: number): boolean {
  return start <= time && time < end
}
