import { WeirError } from '../../core/errors.ts'
import {
  bytesOfKeyText,
  isOtherKey,
  keyText,
  otherKeyOf,
  prefixRange,
} from '../../core/formats/key-text.ts'
import { type PlainKey, plainKeySerializer } from '../../core/formats/plain-key-serializer.ts'
import { hasNumberKeys, hasTextKeys, type KnownState, requireKeyType } from './formats.ts'

/** The keys of a range of entries. Without one of these, no bound. */
export interface AskedRange {
  /** The first characters of texts, or the first elements of tuples. */
  readonly prefix?: string | readonly PlainKey[]
  /** The first key of the range. */
  readonly from?: PlainKey
  /** The key behind the range. */
  readonly to?: PlainKey
}

/** The texts of the first key of a range and of the key before which it ends. */
export interface RangeBounds {
  readonly from: string
  readonly to: string
}

/** A range as it is written in a query of HTTP or in a command. An empty prefix is none. */
export interface WrittenRange {
  readonly prefix?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** How the three are read. @default as the state says, else as texts */
  readonly keys?: 'text' | 'json' | undefined
}

/** Comes after all keys. */
const END = '\u{10ffff}'

/** The bounds of a range. Throws INVALID_ARGUMENT for keys and prefixes of another type than that of the state. */
export function boundsOf(
  state: string,
  info: KnownState | undefined,
  { prefix, from, to }: AskedRange,
): RangeBounds {
  for (const bound of [from, to]) requireBound(info, bound)
  const range = {
    from: from === undefined ? '' : keyText(from),
    to: to === undefined ? END : keyText(to),
  }
  if (prefix === undefined) return range
  requirePrefix(state, info, prefix)
  const own = prefixRange(prefix)
  return {
    from: compare(own.from, range.from) > 0 ? own.from : range.from,
    to: compare(own.to, range.to) < 0 ? own.to : range.to,
  }
}

function compare(a: string, b: string): number {
  return Buffer.compare(bytesOfKeyText(a), bytesOfKeyText(b))
}

/** The empty text and U+10FFFF are bounds of all keys, and what begins with it is where a page has ended. */
function requireBound(info: KnownState | undefined, bound: PlainKey | undefined): void {
  if (bound === undefined || bound === '' || info === undefined || info.kind === 'vector') return
  if (bound === END || (typeof bound === 'string' && isOtherKey(bound))) return
  requireKeyType(info, bound)
}

function requirePrefix(
  state: string,
  info: KnownState | undefined,
  prefix: string | readonly PlainKey[],
): void {
  const isTuple = typeof prefix !== 'string'
  if (info?.keys === 'key-and-window' && !isTuple) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the keys of "${state}" are tuples of a key and the start of its window, which no text is the start of: pass the key as a tuple, [${JSON.stringify(prefix)}]`,
    )
  }
  if (info === undefined) return
  const isNumber = hasNumberKeys(info)
  if (isNumber || (hasTextKeys(info) && isTuple)) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the keys of "${state}" are ${isNumber ? 'numbers, which have no prefix: pass from and to' : 'texts, which no tuple is the start of: pass a text as prefix'}`,
    )
  }
}

/**
 * The range that was written. Where the state says nothing of its keys, they are texts, but for a prefix that is a JSON
 * array: it could be both. `decider`: what the caller adds to say it, such as `keys=json`. Throws INVALID_ARGUMENT.
 */
export function readRange(state: KnownState, written: WrittenRange, decider: string): AskedRange {
  const { from, to, keys } = written
  const prefix = written.prefix === '' ? undefined : written.prefix
  const saysOthers = state.keys !== undefined || hasNumberKeys(state)
  if (
    prefix !== undefined &&
    keys === undefined &&
    state.keyFormat === plainKeySerializer().id &&
    !saysOthers &&
    Array.isArray(otherKeyOf(prefix))
  ) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the prefix ${prefix} can be the start of texts or of tuples, and "${state.name}" may have both: say which with ${decider}`,
    )
  }
  const isJson = keys === 'json' || (keys === undefined && saysOthers)
  const read = (text: string): PlainKey => {
    if (!isJson || text === '' || text.startsWith(END)) return text
    return otherKeyOf(text) ?? (keys === 'json' ? textOfJson(text) : text)
  }
  const own = prefix === undefined ? undefined : read(prefix)
  if (own !== undefined && typeof own !== 'string' && !Array.isArray(own)) {
    throw new WeirError('INVALID_ARGUMENT', `a prefix is a text or a tuple, not ${prefix}`)
  }
  return {
    ...(own === undefined ? {} : { prefix: own as string | readonly PlainKey[] }),
    ...(from === undefined ? {} : { from: read(from) }),
    ...(to === undefined ? {} : { to: read(to) }),
  }
}

function textOfJson(json: string): string {
  let text: unknown
  try {
    text = JSON.parse(json)
  } catch {
    // Refused below.
  }
  if (typeof text === 'string') return text
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${json} is no key in JSON: a text in quotes, a number, true, false, or an array of these`,
  )
}
