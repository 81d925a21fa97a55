import { isMeanKeyBytes } from '../../models/als/row-key.ts'
import type { EncodedPairs } from '../../wire/encoded-pairs.ts'
import { MAX_ID_LENGTH } from '../http/schemas.ts'

/** Most pairs of one batch. */
export const MAX_PAIRS = 4096

const HEAD = Buffer.from('"pairs"')
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const COLON = 0x3a
const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const DASH = 0x2d
const USER = 0x55
const ITEM = 0x49

/** Which bytes an id may have: printable ASCII without the quote and the backslash. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= 0x20 && code < 0x7f && code !== QUOTE && code !== BACKSLASH ? 1 : 0,
)

/**
 * The pairs of a body `{"pairs":[["user","item"],...]}` as keys of their rows, without a string or an
 * object on the way. Undefined for everything else that may be JSON: other fields, escapes, ids that are
 * not ASCII, and what is refused. The keys are written to `bytes`, which is as long as the body: a
 * pair takes no more bytes as keys than as JSON.
 */
export function scanPairs(
  body: Uint8Array,
  bytes: Uint8Array = Buffer.allocUnsafe(body.length),
): EncodedPairs | undefined {
  let from = afterHead(body)
  if (from < 0) return undefined
  let to = 0
  let count = 0
  do {
    from = skip(body, from)
    if (body[from] !== OPEN_LIST || count === MAX_PAIRS) return undefined
    from = skip(body, from + 1)
    let length = copyId(body, from, bytes, to, USER)
    if (length === 0) return undefined
    to += length + 4
    from = skip(body, from + length + 2)
    if (body[from] !== COMMA) return undefined
    from = skip(body, from + 1)
    length = copyId(body, from, bytes, to, ITEM)
    if (length === 0) return undefined
    to += length + 4
    from = skip(body, from + length + 2)
    if (body[from] !== CLOSE_LIST) return undefined
    from = skip(body, from + 1)
    count += 1
  } while (body[from++] === COMMA)
  if (body[from - 1] !== CLOSE_LIST) return undefined
  from = skip(body, from)
  if (body[from] !== CLOSE_OBJECT || skip(body, from + 1) !== body.length) return undefined
  return { count, bytes: bytes.subarray(0, to) }
}

/** Index after `{"pairs":[`; -1 if the body does not start so. */
function afterHead(body: Uint8Array): number {
  let at = skip(body, 0)
  if (body[at] !== OPEN_OBJECT) return -1
  at = skip(body, at + 1)
  for (let i = 0; i < HEAD.length; i++) if (body[at + i] !== HEAD[i]) return -1
  at = skip(body, at + HEAD.length)
  if (body[at] !== COLON) return -1
  at = skip(body, at + 1)
  return body[at] === OPEN_LIST ? at + 1 : -1
}

/** Index of the next byte that is no white space of JSON. */
function skip(body: Uint8Array, at: number): number {
  let i = at
  while (i < body.length) {
    const byte = body[i]!
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break
    i += 1
  }
  return i
}

/**
 * Writes the key of the id in quotes at `from`: its length, the id, `-U` or `-I`. Returns the length of
 * the id; 0 if it is none that is taken as it is.
 */
function copyId(
  body: Uint8Array,
  from: number,
  bytes: Uint8Array,
  to: number,
  kind: number,
): number {
  if (body[from] !== QUOTE) return 0
  const start = from + 1
  const limit = Math.min(body.length, start + MAX_ID_LENGTH + 1)
  let at = start
  let target = to + 2
  while (at < limit && PLAIN[body[at]!] === 1) bytes[target++] = body[at++]!
  if (at === limit || body[at] !== QUOTE) return 0
  const keyLength = at - start + 2
  bytes[to] = keyLength
  bytes[to + 1] = keyLength >>> 8
  bytes[target] = DASH
  bytes[target + 1] = kind
  return isMeanKeyBytes(bytes, to + 2, keyLength) ? 0 : at - start
}
