import { decimalNumber } from '../../core/text/decimal-number.ts'
import { parseDuration, parseSize } from '../../runtime/configuration/values.ts'
import { type FlagKind, type FlagSort, mustBe } from './flag-kind.ts'

/** Bounds of a number. */
export interface FlagRange {
  readonly min?: number
  readonly max?: number
  /** The number is larger than this. */
  readonly above?: number
  /** The number is smaller than this. */
  readonly below?: number
}

/** Longest time that a timer waits, in ms: 24 days. */
const LONGEST_WAIT_MS = 24 * 86_400_000

/** Largest number of things that are made: of users, items or examples. */
export const MOST_MADE = 2 ** 31 - 1

/** A whole number; `N` in `--help`. @default from 0 */
export function wholeNumber(range: FlagRange = { min: 0 }, shown = 'N'): FlagKind {
  return numeric({ sort: 'count', shown, noun: 'a whole number', range, isWhole: true })
}

/** A number, fractions too; `X` in `--help`. */
export function anyNumber(range: FlagRange = {}, shown = 'X'): FlagKind {
  return numeric({ sort: 'number', shown, noun: 'a number', range, isWhole: false })
}

/** A share of a whole. @default from 0 to 1 */
export function share(range: FlagRange = { min: 0, max: 1 }): FlagKind {
  return numeric({ sort: 'number', shown: 'SHARE', noun: 'a share', range, isWhole: false })
}

/** A time in whole milliseconds that a timer can wait. @default from 1 */
export function milliseconds(range: FlagRange = {}): FlagKind {
  return ageMs({ min: 1, max: LONGEST_WAIT_MS, ...range })
}

/** A time in seconds above 0, fractions too, that a timer can wait. */
export function seconds(range: FlagRange = { above: 0 }): FlagKind {
  return age({ max: LONGEST_WAIT_MS / 1000, ...range })
}

/** An age in whole milliseconds, with no limit but its range. */
export function ageMs(range: FlagRange): FlagKind {
  return numeric({
    sort: 'duration',
    shown: 'MS',
    noun: 'a whole number of milliseconds',
    range,
    isWhole: true,
    unitMs: 1,
  })
}

/** An age in seconds, fractions too, with no limit but its range. */
export function age(range: FlagRange = { above: 0 }): FlagKind {
  return numeric({
    sort: 'duration',
    shown: 'SECONDS',
    noun: 'a number of seconds',
    range,
    isWhole: false,
    unitMs: 1000,
  })
}

/** The port of a server. */
export const port: FlagKind = portFrom(1)

/** A port to listen on; 0 is any free one. */
export const portToOpen: FlagKind = portFrom(0)

function portFrom(min: number): FlagKind {
  const range = { min, max: 65_535 }
  return numeric({ sort: 'port', shown: 'PORT', noun: 'a whole number', range, isWhole: true })
}

/** A size in bytes with a unit, `512mb` or `2GiB`, from `min` bytes on, which `minText` says. */
export function size(min: number, minText: string): FlagKind {
  const takes = `a size such as 512mb or 2GiB, at least ${minText}`
  return {
    sort: 'bytes',
    shown: 'SIZE',
    takes,
    range: `at least ${minText}`,
    problem(text) {
      const bytes = sizeOf(text)
      if (bytes === undefined) return mustBe(takes, text)
      return bytes < min ? mustBe(takes, text, `; the nearest is ${minText}`) : undefined
    },
  }
}

function sizeOf(text: string): number | undefined {
  try {
    return parseSize(text)
  } catch {
    return undefined
  }
}

interface Numeric {
  readonly sort: FlagSort
  readonly shown: string
  readonly noun: string
  readonly range: FlagRange
  readonly isWhole: boolean
  /** Milliseconds of the unit of a time. */
  readonly unitMs?: number
}

function numeric({ sort, shown, noun, range, isWhole, unitMs }: Numeric): FlagKind {
  const bounds = rangeText(range)
  const takes = bounds === '' ? noun : `${noun} ${bounds}`
  return {
    sort,
    shown,
    takes,
    ...(bounds === '' ? {} : { range: bounds }),
    problem(text) {
      const value = decimalNumber(text)
      if (!Number.isFinite(value)) return mustBe(takes, text, unitHint(text, unitMs))
      const nearest = nearestIn(value, range, isWhole)
      if (nearest === value) return undefined
      return mustBe(takes, text, nearest === undefined ? '' : `; the nearest is ${nearest}`)
    },
  }
}

/** `from 1 to 10`, `above 0`; empty without a bound. */
function rangeText({ min, max, above, below }: FlagRange): string {
  const lower = min === undefined ? (above === undefined ? '' : `above ${above}`) : `from ${min}`
  const upper = max === undefined ? (below === undefined ? '' : `below ${below}`) : `to ${max}`
  if (upper === '') return lower
  if (lower === '') return max === undefined ? upper : `up ${upper}`
  return min !== undefined && max !== undefined
    ? `${lower} ${upper}`
    : `${lower} and ${upTo(upper)}`
}

const upTo = (upper: string): string => (upper.startsWith('to ') ? `up ${upper}` : upper)

/** The valid number nearest to a number; undefined where it is not one that a message can write. */
function nearestIn(
  value: number,
  { min = -Infinity, max = Infinity, above = -Infinity, below = Infinity }: FlagRange,
  isWhole: boolean,
): number | undefined {
  const rounded = isWhole ? Math.round(value) : value
  const clamped = Math.min(Math.max(rounded, min), max)
  // The number next to an open bound has too many digits to read.
  if (clamped <= above || clamped >= below) return undefined
  return isWhole && !Number.isSafeInteger(clamped) ? undefined : clamped
}

/** What to write for a time with a unit: `5s` is 5000 of a flag in milliseconds. */
function unitHint(text: string, unitMs: number | undefined): string {
  if (unitMs === undefined) return ''
  try {
    return `; for ${text.trim()} write ${parseDuration(text) / unitMs}`
  } catch {
    return ''
  }
}
