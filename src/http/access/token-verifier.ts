import type { ObjectRight } from './object-rights.ts'
import type { Role } from './role.ts'
import { digestOf, type TokenRecord, tokenIdOf } from './token.ts'

/** Holder of a valid token. */
export interface Principal {
  /** Id of the token, for logs; `shared` for the shared token, `anonymous` where no token is needed. */
  readonly id: string
  readonly name: string
  readonly role: Role
  /** What it may do with objects; its role then holds only for what is none. @default what its role says */
  readonly rights?: readonly ObjectRight[]
  /** Time from which its token is refused, ms since 1970. */
  readonly expiresMs?: number
}

/** A token of the verifier, with its digest as bytes. */
export interface VerifiedToken extends Principal {
  /** Index of its record; -1 for the shared token. */
  readonly index: number
  readonly digest: Buffer
  readonly expiresMs: number
}

const NO_DIGEST = Buffer.alloc(32)

/** Tokens that are accepted. */
export interface AcceptedTokens {
  readonly records: readonly TokenRecord[]
  /** SHA-256 of one token without a record, in hex; its role is `admin`. */
  readonly sharedSha256?: string
}

/** Verifies bearer tokens against their hashes; knows no token itself. */
export class TokenVerifier {
  private readonly entries: ReadonlyMap<string, VerifiedToken>
  private readonly shared: VerifiedToken | undefined

  constructor({ records, sharedSha256 }: AcceptedTokens) {
    this.entries = new Map(records.map((record, at) => [record.id, entryOf(record, at)]))
    this.shared =
      sharedSha256 === undefined
        ? undefined
        : entryOf({ id: 'shared', name: '', role: 'admin', sha256: sharedSha256 }, -1)
  }

  /**
   * The holder of a token; undefined for one that is wrong or expired at `nowMs` (since 1970). The time
   * of a call depends on the length of `text` and on the id in it, which are no secrets, and on nothing
   * else.
   */
  verify(text: string, nowMs: number): VerifiedToken | undefined {
    const digest = digestOf(text)
    const entry = this.entries.get(tokenIdOf(text) ?? '') ?? this.shared
    const { timingSafeEqual } = process.getBuiltinModule('node:crypto')
    const isEqual = timingSafeEqual(digest, entry?.digest ?? NO_DIGEST)
    return entry !== undefined && isEqual && nowMs < entry.expiresMs ? entry : undefined
  }

  /** The holder of the token with an id, without a proof; undefined if it is revoked or expired. */
  holder(id: string, nowMs: number): Principal | undefined {
    const entry = id === this.shared?.id ? this.shared : this.entries.get(id)
    return entry !== undefined && nowMs < entry.expiresMs ? entry : undefined
  }
}

function entryOf(token: Omit<TokenRecord, 'createdMs' | 'limit'>, index: number): VerifiedToken {
  const { id, name, role, sha256, rights, expiresMs = Number.POSITIVE_INFINITY } = token
  const digest = Buffer.from(sha256, 'hex')
  return { id, name, role, index, digest, expiresMs, ...(rights === undefined ? {} : { rights }) }
}
