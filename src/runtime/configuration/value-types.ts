import { requireArgument } from '../../core/errors.ts'
import { type PortRange, parsePortRange } from '../../core/port-range.ts'
import { parseStorageUrl } from '../../core/storage-url.ts'
import { parseCount, parseDuration, parseNumber, parseSize, parseWord } from './values.ts'

/** The kind of a value, as the reference names it. */
export type ValueKind =
  | 'count'
  | 'duration'
  | 'size'
  | 'word'
  | 'path'
  | 'path or count'
  | 'number'
  | 'ports'

/** The type of the values of a key: what documentation, help and the check of a value share. */
export interface ValueType<T> {
  readonly kind: ValueKind
  /** Valid values in words, `from 1 ms to 24 d`; empty where the kind says it all. */
  readonly range: string
  /** Throws INVALID_ARGUMENT, with the nearest valid value for one that is out of range. */
  readonly parse: (text: string) => T
}

/** Longest time that a timer can wait: 2^31 - 1 ms, written in days. */
const LONGEST_MS = 24 * 86_400_000

/** Milliseconds as a value of a configuration: `500 ms`, `10 s`, `5 min`, `24 d`. */
export function durationText(ms: number): string {
  if (ms >= 86_400_000 && ms % 86_400_000 === 0) return `${ms / 86_400_000} d`
  if (ms >= 60_000 && ms % 60_000 === 0) return `${ms / 60_000} min`
  return ms >= 1000 && ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`
}

/** Bytes as a value of a configuration: `16 kb`, `64 mb`. */
export function sizeText(bytes: number): string {
  for (const [unit, factor] of [
    ['tb', 2 ** 40],
    ['gb', 2 ** 30],
    ['mb', 2 ** 20],
    ['kb', 2 ** 10],
  ] as const) {
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor} ${unit}`
  }
  return `${bytes} b`
}

/** A type of numbers with bounds. */
function bounded(
  kind: ValueKind,
  parse: (text: string) => number,
  { least, most, textOf }: { least: number; most: number; textOf: (value: number) => string },
): ValueType<number> {
  const range =
    most === Number.POSITIVE_INFINITY
      ? `at least ${textOf(least)}`
      : `from ${textOf(least)} to ${textOf(most)}`
  return {
    kind,
    range,
    parse: (text) => {
      const value = parse(text)
      const nearest = Math.min(Math.max(value, least), most)
      requireArgument(
        value === nearest,
        `"${text}" is out of range (${range}); the nearest valid value is ${textOf(nearest)}`,
      )
      return value
    },
  }
}

/** Whole numbers from `least` on. */
export function count(least: number, most = Number.POSITIVE_INFINITY): ValueType<number> {
  return bounded('count', (text) => parseCount(text, 0), { least, most, textOf: String })
}

/**
 * Parallelisms: numbers of subtasks, slots or key groups. The most is `MAX_MAX_PARALLELISM`, whose module a command
 * does not load before its threads start.
 */
export const parallelism: ValueType<number> = count(1, 32_768)

/** Durations from `leastMs` on, in ms, as long as a timer can wait. */
export function duration(leastMs: number): ValueType<number> {
  return bounded('duration', parseDuration, {
    least: leastMs,
    most: LONGEST_MS,
    textOf: durationText,
  })
}

/** Sizes in bytes from `least` on. */
export function size(least: number, most = Number.POSITIVE_INFINITY): ValueType<number> {
  return bounded('size', parseSize, { least, most, textOf: sizeText })
}

/** Numbers in a range. */
export function number(least: number, most: number): ValueType<number> {
  return bounded('number', parseNumber, { least, most, textOf: String })
}

/** One of a closed set of words, which means a value. */
export function word<T>(meanings: Readonly<Record<string, T>>): ValueType<T> {
  const words = Object.keys(meanings)
  return {
    kind: 'word',
    range: `one of ${words.join(', ')}`,
    parse: (text) => meanings[parseWord(text, words)]!,
  }
}

/** Whether something is so. */
export const truth: ValueType<boolean> = word({ true: true, false: false })

/** Any text: a name or an address. */
export const text: ValueType<string> = { kind: 'word', range: '', parse: (value) => value }

/** A path of this machine. */
export const path: ValueType<string> = { ...text, kind: 'path', parse: pathIn }

/** A path of this machine, or a `file://`, `hdfs://` or `s3://` URL. */
export const place: ValueType<string> = {
  ...path,
  parse: (value) => {
    parseStorageUrl(pathIn(value))
    return value
  },
}

function pathIn(value: string): string {
  const isPath = value.trim() !== '' && !value.includes('\0')
  requireArgument(isPath, `"${value}" is no path; leave the key out for its default`)
  return value
}

/** A folder, or the number of a checkpoint. */
export const pathOrCount: ValueType<string | number> = {
  kind: 'path or count',
  range: '',
  parse: (value) => (/^\d+$/.test(value) ? count(1).parse(value) : place.parse(value)),
}

/** A port or a range of ports. */
export const ports: ValueType<PortRange> = { kind: 'ports', range: '', parse: parsePortRange }

/** A port, a range of ports, or 0 for any free port. */
export const portsOrAny: ValueType<PortRange> = {
  ...ports,
  parse: (value) => (value.trim() === '0' ? { first: 0, last: 0 } : parsePortRange(value)),
}
