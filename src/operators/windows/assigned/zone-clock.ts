import { WeirError } from '../../../core/errors.ts'
import { describeValue } from '../../../core/text/describe-value.ts'

const HOUR_MS = 3_600_000

/** No clock was ever further from UTC. */
const MOST_OFFSET_MS = 16 * HOUR_MS

/** Distance of two looks at the offset, between which it changes at most once. */
const STEP_MS = 4 * HOUR_MS

/** Times before clocks were set by zones, and the last one of a Date: further away the offset is that of these. */
const FIRST_MS = Date.UTC(1000, 0, 1)
const LAST_MS = 8.64e15

const FIELDS = {
  calendar: 'gregory',
  numberingSystem: 'latn',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const

/**
 * The clocks of a time zone, by the rules that Node has of it. Local time is what they show, in ms as if they stood in UTC:
 * it jumps where they are changed.
 */
export class ZoneClock {
  private readonly format: Intl.DateTimeFormat

  /** Throws INVALID_ARGUMENT for a zone that there is not. */
  constructor(zone: string) {
    this.format = formatOf(zone)
  }

  /** The local time at a moment, ms. */
  localAt(time: number): number {
    return time + this.offsetAt(time)
  }

  /** The first moment at which the clocks show this local time or a later one, ms since 1970. */
  firstAt(local: number): number {
    const from = local - MOST_OFFSET_MS
    const to = local + MOST_OFFSET_MS
    let offset = this.offsetAt(from)
    if (offset === this.offsetAt(to)) return local - offset
    for (let at = from; at < to; at += STEP_MS) {
      const next = this.offsetAt(at + STEP_MS)
      const change = next === offset ? at + STEP_MS : this.changeIn(at, at + STEP_MS)
      if (local - offset < change) return local - offset
      if (change + next >= local) return change
      offset = next
    }
    return local - offset
  }

  /** The moment between two, `from < moment <= to`, from which on the offset is that of `to`. */
  private changeIn(from: number, to: number): number {
    const after = this.offsetAt(to)
    let [low, high] = [from, to]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.offsetAt(middle) === after) high = middle
      else low = middle
    }
    return high
  }

  /** Local time less that of UTC, ms. */
  private offsetAt(time: number): number {
    const moment = Math.min(Math.max(time, FIRST_MS), LAST_MS)
    const shown = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 }
    for (const { type, value } of this.format.formatToParts(moment)) {
      if (type in shown) shown[type as keyof typeof shown] = Number(value)
    }
    const { year, month, day, hour, minute, second } = shown
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(moment / 1000) * 1000
  }
}

function formatOf(zone: string): Intl.DateTimeFormat {
  try {
    if (typeof zone === 'string')
      return new Intl.DateTimeFormat('en-US', { ...FIELDS, timeZone: zone })
  } catch {
    // Said below.
  }
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the zone of windows in local time is ${describeValue(zone)}, which Node does not know: give the name of an IANA time zone, such as Europe/Berlin`,
  )
}
