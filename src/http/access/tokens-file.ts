import { messageOf, WeirError } from '../../core/errors.ts'
import { type ObjectRight, parseRight, rightText } from './object-rights.ts'
import type { RateLimit } from './rate-bucket.ts'
import { ROLES, type Role } from './role.ts'
import type { TokenRecord } from './token.ts'

/*
 * Format of the tokens file: JSON, {"version": 2, "tokens": [{id, name, role, sha256, created, expires?,
 * limit?: {perSecond, burst}, rights?: ["read:model:fraud-*"]}]}. Times are ISO 8601 text. Unknown fields are
 * refused: a misspelled "expires" must not make a token that never expires. Version 1 has no rights; a file without
 * rights is written as version 1, which an older Weir reads.
 */

const VERSION = 2
const FIELDS = ['id', 'name', 'role', 'sha256', 'created', 'expires', 'limit', 'rights']

type Fields = Readonly<Record<string, unknown>>

/** Text of a tokens file with these records. */
export function formatTokens(records: readonly TokenRecord[]): string {
  const tokens = records.map(({ id, name, role, sha256, createdMs, expiresMs, limit, rights }) => ({
    id,
    name,
    role,
    sha256,
    created: new Date(createdMs).toISOString(),
    ...(expiresMs === undefined ? {} : { expires: new Date(expiresMs).toISOString() }),
    ...(limit === undefined ? {} : { limit }),
    ...(rights === undefined ? {} : { rights: rights.map(rightText) }),
  }))
  const version = records.some(({ rights }) => rights !== undefined) ? VERSION : 1
  return `${JSON.stringify({ version, tokens }, undefined, 2)}\n`
}

/**
 * Records of a tokens file. Throws MALFORMED_DATA, which names the file and the token, and
 * UNSUPPORTED_VERSION for a file of a newer Weir.
 */
export function parseTokens(text: string, file: string): readonly TokenRecord[] {
  const { version, tokens } = fieldsOf(jsonOf(text, file), file)
  if (typeof version === 'number' && version > VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `${file}: version ${version} is newer than this Weir reads (${VERSION}); update Weir`,
    )
  }
  if ((version !== 1 && version !== VERSION) || !Array.isArray(tokens)) {
    throw malformed(file, `it needs "version": 1 or ${VERSION} and a list "tokens"`)
  }
  const records = tokens.map((token: unknown, index) =>
    recordOf(token, `${file}: token ${index + 1}`),
  )
  const ids = new Set(records.map(({ id }) => id))
  if (ids.size < records.length) throw malformed(file, 'two tokens have the same id')
  return records
}

function jsonOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the text, which may be a token that was saved here by mistake.
    throw malformed(file, 'it is not JSON')
  }
}

function fieldsOf(value: unknown, place: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw malformed(place, 'it is not an object')
}

function recordOf(value: unknown, place: string): TokenRecord {
  const fields = fieldsOf(value, place)
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name))
  if (unknown !== undefined) throw malformed(place, `it has the unknown field "${unknown}"`)
  const { limit, expires, rights } = fields
  return {
    id: textOf(fields, 'id', /^[0-9a-f]{12}$/, place),
    name: textOf(fields, 'name', /^[^\p{Cc}]*$/u, place),
    role: roleOf(fields['role'], place),
    sha256: textOf(fields, 'sha256', /^[0-9a-f]{64}$/, place),
    createdMs: timeOf(fields, 'created', place),
    ...(expires === undefined ? {} : { expiresMs: timeOf(fields, 'expires', place) }),
    ...(limit === undefined ? {} : { limit: limitOf(limit, place) }),
    ...(rights === undefined ? {} : { rights: rightsOf(rights, place) }),
  }
}

function textOf(fields: Fields, name: string, form: RegExp, place: string): string {
  const text = fields[name]
  if (typeof text === 'string' && form.test(text)) return text
  throw malformed(place, `"${name}" is missing or has a wrong form`)
}

function roleOf(value: unknown, place: string): Role {
  const role = ROLES.find((one) => one === value)
  if (role !== undefined) return role
  throw malformed(place, `"role" must be one of ${ROLES.join(', ')}`)
}

function timeOf(fields: Fields, name: string, place: string): number {
  const time = Date.parse(textOf(fields, name, /^\d{4}-\d\d-\d\dT.*Z$/, place))
  if (!Number.isNaN(time)) return time
  throw malformed(place, `"${name}" is no time such as 2030-01-31T00:00:00Z`)
}

/** An empty list stays one: it gives no rights on any object. */
function rightsOf(value: unknown, place: string): readonly ObjectRight[] {
  if (!Array.isArray(value)) throw malformed(place, '"rights" is no list of texts')
  return value.map((right: unknown) => {
    try {
      return parseRight(String(right))
    } catch (error) {
      throw malformed(place, messageOf(error))
    }
  })
}

function limitOf(value: unknown, place: string): RateLimit {
  const { perSecond, burst } = fieldsOf(value, place)
  if (isAtLeast(perSecond, Number.MIN_VALUE) && isAtLeast(burst, 1)) return { perSecond, burst }
  throw malformed(place, '"limit" needs "perSecond" above 0 and "burst" of at least 1')
}

function isAtLeast(value: unknown, least: number): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= least
}

function malformed(place: string, why: string): WeirError {
  return new WeirError(
    'MALFORMED_DATA',
    `${place}: ${why}; restore a copy, or remove the file and create its tokens again with "weir token create --role read --tokens FILE"`,
  )
}
