import { requireArgument, WeirError } from '../../core/errors.ts'

const DURATION_UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  milli: 1,
  s: 1000,
  sec: 1000,
  second: 1000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  bytes: 1,
  k: 2 ** 10,
  kb: 2 ** 10,
  kib: 2 ** 10,
  m: 2 ** 20,
  mb: 2 ** 20,
  mib: 2 ** 20,
  g: 2 ** 30,
  gb: 2 ** 30,
  gib: 2 ** 30,
  t: 2 ** 40,
  tb: 2 ** 40,
  tib: 2 ** 40,
}

/**
 * Milliseconds of a duration in Flink's notation: `500 ms`, `10 s`, `1 min`; a number without a unit is
 * ms.
 */
export function parseDuration(text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*$/.exec(text)
  const unit = match?.[2]?.toLowerCase() ?? ''
  const factor = DURATION_UNITS[unit === '' ? 'ms' : unit] ?? DURATION_UNITS[singular(unit)]
  requireArgument(
    match !== null && factor !== undefined,
    `"${text}" is not a duration; write a number and a unit such as "500 ms", "10 s" or "5 min"`,
  )
  return Number(match[1]) * factor
}

const singular = (unit: string): string => (unit.endsWith('s') ? unit.slice(0, -1) : unit)

/**
 * Bytes of a size in Flink's notation: `64 kb`, `512 mb`, `2 gb` (powers of 1024, also written `2 GiB`); a
 * number without a unit is bytes.
 */
export function parseSize(text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*$/.exec(text)
  const factor = SIZE_UNITS[match?.[2]?.toLowerCase() ?? '']
  requireArgument(
    match !== null && factor !== undefined,
    `"${text}" is not a size; write a number and a unit such as "64 kb", "512 mb" or "2 gb"`,
  )
  return Math.floor(Number(match[1]) * factor)
}

/** Reads a whole number with `least <= n`. Throws INVALID_ARGUMENT. */
export function parseCount(text: string, least: number): number {
  const n = Number(text)
  requireArgument(
    text.trim() !== '' && Number.isSafeInteger(n) && n >= least,
    `"${text}" is not a whole number of at least ${least}`,
  )
  return n
}

/** Reads a number. Throws INVALID_ARGUMENT. */
export function parseNumber(text: string): number {
  const x = Number(text)
  requireArgument(text.trim() !== '' && !Number.isNaN(x), `"${text}" is not a number`)
  return x
}

/** Reads one of a closed set of words. Throws INVALID_ARGUMENT, which lists them. */
export function parseWord<W extends string>(text: string, words: readonly W[]): W {
  const word = words.find((candidate) => candidate === text.trim().toLowerCase())
  requireArgument(word !== undefined, `"${text}" is none of ${words.join(', ')}`)
  return word
}

/** Runs `parse`; if it throws, throws INVALID_ARGUMENT with the key in the message. */
export function withKey<T>(key: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    const sentence = cause instanceof Error ? cause.message : String(cause)
    throw new WeirError('INVALID_ARGUMENT', `${key}: ${sentence}`, { cause, details: { key } })
  }
}
