const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Units of an age, the longest first. */
const UNITS = [
  ['years', 365.25 * DAY_MS],
  ['months', (365.25 / 12) * DAY_MS],
  ['days', DAY_MS],
  ['h', HOUR_MS],
  ['min', MINUTE_MS],
] as const

/** A length of time in the longest unit of which it has two: `7 years`, `36 h`. */
export function durationText(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, unitMs]) => ms >= 2 * unitMs) ?? ['s', SECOND_MS]
  return `${Math.round(ms / unitMs)} ${unit}`
}

/** How old something is, in the longest unit of which it has two: `7 years old`, `36 h old`; `ms` below 0 are in the future. */
export function ageText(ms: number): string {
  const text = durationText(Math.abs(ms))
  return ms < 0 ? `${text} in the future` : `${text} old`
}
