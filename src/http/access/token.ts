import { requireArgument } from '../../core/errors.ts'
import type { ObjectRight } from './object-rights.ts'
import type { RateLimit } from './rate-bucket.ts'
import type { Role } from './role.ts'

/** Bearer token as the tokens file keeps it: a hash, never the token itself. */
export interface TokenRecord {
  /** Public part of the token, 12 hex digits; logs and `weir token revoke` name it. */
  readonly id: string
  /** Name that a person gave it; may be empty. */
  readonly name: string
  readonly role: Role
  /** SHA-256 of the whole token, 64 hex digits. */
  readonly sha256: string
  /** Time of creation, ms since 1970. */
  readonly createdMs: number
  /** Time from which it is refused, ms since 1970. @default never */
  readonly expiresMs?: number
  /** Requests that it may send. @default no limit */
  readonly limit?: RateLimit
  /** What it may do with objects; its role then holds only for what is none. @default what its role says */
  readonly rights?: readonly ObjectRight[]
}

/** Attributes of a new token that its creator chooses. */
export type TokenAttributes = Pick<
  TokenRecord,
  'name' | 'role' | 'createdMs' | 'expiresMs' | 'limit' | 'rights'
>

/** Random bytes of a token: 6 for its id, 32 for its secret. */
export const TOKEN_RANDOM_BYTES = 38

const ID_BYTES = 6
/** `weir_`, the id, and the secret in base64url; the prefix lets secret scanners find leaked tokens. */
const TOKEN = /^weir_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/

/**
 * Creates a token from `random`, 38 bytes of a cryptographic source. `text` is shown once; `record` is
 * stored. SHA-256 suffices for the hash: the secret has 256 random bits, so no one can guess it.
 */
export function createToken(
  attributes: TokenAttributes,
  random: Uint8Array,
): { readonly text: string; readonly record: TokenRecord } {
  requireArgument(
    random.length === TOKEN_RANDOM_BYTES,
    `a token takes ${TOKEN_RANDOM_BYTES} random bytes, not ${random.length}`,
  )
  const bytes = Buffer.from(random)
  const id = bytes.toString('hex', 0, ID_BYTES)
  const text = `weir_${id}_${bytes.toString('base64url', ID_BYTES)}`
  return { text, record: { id, ...attributes, sha256: digestOf(text).toString('hex') } }
}

/** Id in a token's text; undefined for text of another form. */
export function tokenIdOf(text: string): string | undefined {
  return TOKEN.exec(text)?.[1]
}

/** SHA-256 of a token's text, 32 bytes. */
export function digestOf(text: string): Buffer {
  // Loaded at the first use: it takes a thread milliseconds at its start, and most never need it.
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest()
}
