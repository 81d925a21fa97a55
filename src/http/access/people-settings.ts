import { requireArgument } from '../../core/errors.ts'
import { OBJECT_KINDS, type ObjectRight, parseRight } from './object-rights.ts'
import { ROLES, type Role } from './role.ts'

/*
 * Format of the file of people: JSON, {"issuer", "audience", "keys", "claim"?, "clockSkewSeconds"?, "grants": {NAME: {role,
 * rights?: ["read:model:fraud-*"]}}}. `keys` is the URL of a JSON Web Key Set, or the path of a file with one, from
 * the folder of this file. Unknown fields are refused: a misspelled "audience" must not let everyone in.
 */

/** What people with a value of the claim may do. */
export interface Grant {
  readonly role: Role
  readonly rights?: readonly ObjectRight[]
}

/** Who signs the tokens of people (OpenID Connect), and what the people may do. Plain data that threads can share. */
export interface PeopleSettings {
  /** The `iss` of tokens, exactly. */
  readonly issuer: string
  /** The `aud` of tokens: the name of this server at the issuer. */
  readonly audience: string
  /** URL of the key set, or the key set itself as JSON. */
  readonly keys: { readonly url: string } | { readonly json: string }
  /** Claim that names grants; dots lead into objects: `realm_access.roles`. */
  readonly claim: string
  /** Seconds by which the clocks of the issuer and of this machine may differ. */
  readonly clockSkewSeconds: number
  /** Grants by a value of the claim. */
  readonly grants: Readonly<Record<string, Grant>>
}

const FIELDS = ['issuer', 'audience', 'keys', 'claim', 'clockSkewSeconds', 'grants']
const DEFAULT_CLAIM = 'groups'
const DEFAULT_SKEW_SECONDS = 30
const MOST_SKEW_SECONDS = 300

type Fields = Readonly<Record<string, unknown>>

/**
 * Settings in the text of a file; `readKeys` reads the file of a key set. Throws INVALID_ARGUMENT, which names the file and
 * the field.
 */
export function parsePeople(
  text: string,
  file: string,
  readKeys: (path: string) => string,
): PeopleSettings {
  const fields = fieldsOf(jsonOf(text, file), file, FIELDS)
  const keys = textOf(fields, 'keys', file)
  const { clockSkewSeconds = DEFAULT_SKEW_SECONDS } = fields
  requireArgument(
    typeof clockSkewSeconds === 'number' &&
      clockSkewSeconds >= 0 &&
      clockSkewSeconds <= MOST_SKEW_SECONDS,
    `${file}: "clockSkewSeconds" is a number from 0 to ${MOST_SKEW_SECONDS}`,
  )
  return {
    issuer: textOf(fields, 'issuer', file),
    audience: textOf(fields, 'audience', file),
    keys: /^[a-z][a-z0-9+.-]+:/i.test(keys) ? { url: urlOf(keys, file) } : { json: readKeys(keys) },
    claim: fields['claim'] === undefined ? DEFAULT_CLAIM : textOf(fields, 'claim', file),
    clockSkewSeconds,
    grants: grantsOf(fields['grants'], file),
  }
}

/** What someone with these values of the claim may do; undefined without a grant. */
export function grantOf({ grants }: PeopleSettings, values: readonly string[]): Grant | undefined {
  const own = values.flatMap((value) => (Object.hasOwn(grants, value) ? [grants[value]!] : []))
  const [first] = own
  if (first === undefined) return undefined
  const role = ROLES.findLast((one) => own.some((grant) => grant.role === one)) ?? first.role
  if (own.every(({ rights }) => rights === undefined)) return { role }
  return { role, rights: own.flatMap(rightsOfGrant) }
}

/** The rights of a grant; without some, its role holds for all objects. */
function rightsOfGrant({ role, rights }: Grant): readonly ObjectRight[] {
  return rights ?? OBJECT_KINDS.map((kind) => ({ role, kind, name: '', isPrefix: true }))
}

function grantsOf(value: unknown, file: string): Readonly<Record<string, Grant>> {
  const grants = Object.entries(fieldsOf(value, `${file}: "grants"`))
  requireArgument(grants.length > 0, `${file}: "grants" is empty, so that no one could connect`)
  return Object.fromEntries(
    grants.map(([name, grant]) => [name, grantIn(grant, `${file}: grant "${name}"`)]),
  )
}

function grantIn(value: unknown, place: string): Grant {
  const { role: given, rights } = fieldsOf(value, place, ['role', 'rights'])
  const role = ROLES.find((one) => one === given)
  requireArgument(role !== undefined, `${place}: "role" must be one of ${ROLES.join(', ')}`)
  if (rights === undefined) return { role }
  requireArgument(Array.isArray(rights), `${place}: "rights" is a list of texts`)
  return { role, rights: rights.map((right: unknown) => parseRight(String(right))) }
}

function jsonOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    requireArgument(false, `${file}: it is not JSON`)
  }
}

function fieldsOf(value: unknown, place: string, known?: readonly string[]): Fields {
  requireArgument(
    typeof value === 'object' && value !== null && !Array.isArray(value),
    `${place}: it is not an object`,
  )
  const unknown = Object.keys(value).find((name) => known?.includes(name) === false)
  requireArgument(unknown === undefined, `${place}: it has the unknown field "${unknown}"`)
  return value as Fields
}

function textOf(fields: Fields, name: string, file: string): string {
  const text = fields[name]
  requireArgument(
    typeof text === 'string' && text !== '',
    `${file}: "${name}" is missing or no text`,
  )
  return text
}

/** Keys that others could change on their way would let them sign: plain HTTP only from this machine. */
function urlOf(text: string, file: string): string {
  const url = URL.parse(text)
  const isLocal = url !== null && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
  requireArgument(
    url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)),
    `${file}: "keys" is a path, or an https:// URL (http:// only of this machine)`,
  )
  return url.href
}
