import type { Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import type { AuditSink } from './audit.ts'
import { isLoopback } from './listener.ts'
import { type AccessObject, rightText, roleOn } from './object-rights.ts'
import type { PeopleSettings } from './people-settings.ts'
import { RateBucket } from './rate-bucket.ts'
import { limitedError, rightError, roleError, unauthenticatedError } from './refusals.ts'
import { mayActAs, type Role } from './role.ts'
import { digestOf, type TokenRecord } from './token.ts'
import { type RequestSource, TokenUses, usesMemory } from './token-uses.ts'
import { type AcceptedTokens, type Principal, TokenVerifier } from './token-verifier.ts'
import { TrustedProxies } from './trusted-proxies.ts'

/** Accepted tokens and the counters of their rate limits: plain data that threads can share. */
export interface AccessShare extends AcceptedTokens {
  /** Whether requests need a token. Without this, a file whose last token is revoked would open the port. */
  readonly needsToken: boolean
  /** A 64-bit word for each record, in their order. */
  readonly buckets: SharedArrayBuffer
  /** As of `usesMemory`. */
  readonly uses: SharedArrayBuffer
  /** Who signs the tokens of people. @default people have none */
  readonly people?: PeopleSettings
  /** As of `TrustedProxies`; of the start: those of a later share count for nothing. @default none */
  readonly proxies?: readonly string[]
}

/** Tokens of people. A token is verified before the first request with it is authorized. */
export interface PeopleTokens {
  /** Whether a text has the form of such a token. */
  takes(token: string): boolean
  /** The person of a token that was verified and has not expired. */
  find(token: string): (Principal & { readonly expiresMs: number }) | undefined
  /** Verifies a token; never rejects. */
  verify(token: string): Promise<void>
}

/** Parts of an `AccessControl` that a port may have. */
export interface AccessParts {
  /** Takes an entry for each change that a client asks for. @default none is kept */
  readonly audit?: AuditSink | undefined
  /** @default people have no tokens */
  readonly people?: PeopleTokens
}

/** What a request is about, besides its token. */
export interface RequestFacts {
  /** Objects that it names; the token needs the right on each. @default none: the role decides */
  readonly on?: AccessObject | readonly AccessObject[] | undefined
  /** Where it comes from. */
  readonly from?: RequestSource | undefined
  /** What it counts as in the rate of its token. @default 1 */
  readonly requests?: number
}

/** Numbers of requests that were refused for their token, by error code. */
export type RefusedRequests = Record<'UNAUTHENTICATED' | 'ACCESS_DENIED', number>

/** Whether a request may run. `status` is that of an HTTP answer. */
export type AccessDecision =
  | { readonly kind: 'allowed'; readonly principal: Principal }
  | { readonly kind: 'unauthenticated'; readonly status: 401; readonly error: WeirError }
  | {
      readonly kind: 'forbidden'
      readonly status: 403
      readonly error: WeirError
      readonly principal: Principal
    }
  | {
      readonly kind: 'limited'
      readonly status: 429
      readonly error: WeirError
      /** Time after which the request may be sent again, in ms. */
      readonly retryAfterMs: number
      readonly principal: Principal
    }

const BYTES_PER_WORD = 8
/** What the ids of people begin with. */
export const PERSON = 'person:'
const NO_FACTS: RequestFacts = {}
/** Id of who asks where no token is needed. */
export const ANONYMOUS_ID = 'anonymous'

const ANONYMOUS: Principal = { id: ANONYMOUS_ID, name: '', role: 'admin' }

/** Data of an `AccessControl` that allows everything to everyone. */
export const OPEN_ACCESS: AccessShare = {
  needsToken: false,
  records: [],
  buckets: new SharedArrayBuffer(0),
  uses: usesMemory(0),
}

/**
 * Data of an `AccessControl` that accepts the tokens of a file, and a shared token with the role `admin`
 * if one is given. With neither it refuses everyone.
 */
export function shareAccess(
  records: readonly TokenRecord[],
  sharedToken?: string,
  people?: PeopleSettings,
): AccessShare {
  return {
    needsToken: true,
    records,
    buckets: new SharedArrayBuffer(records.length * BYTES_PER_WORD),
    uses: usesMemory(records.length),
    ...(people === undefined ? {} : { people }),
    ...(sharedToken === undefined ? {} : { sharedSha256: digestOf(sharedToken).toString('hex') }),
  }
}

/**
 * Decides for each request of a listener whether its token allows it. It knows no transport. An HTTP
 * server uses it like this, before it reads the body:
 *
 * ```ts
 * const start = decideListener({ what: 'the gateway', host, hasTls, hasTokens, isInsecureAllowed })
 * if (start.warning !== undefined) io.err(`warning: ${start.warning}`) // it throws INVALID_ARGUMENT
 * const access = new AccessControl(shareAccess(readTokens(file)), systemClock)
 *
 * const decision = access.authorize(bearerTokenOf(request.headers.authorization), 'write')
 * if (decision.kind !== 'allowed') {
 *   if (decision.status === 401) reply.header('WWW-Authenticate', 'Bearer')
 *   if (decision.kind === 'limited') reply.header('Retry-After', Math.ceil(decision.retryAfterMs / 1000))
 *   return reply.code(decision.status).send(problemOf(decision.error))
 * }
 * log.info({ token: decision.principal.id }, 'the id is no secret')
 * ```
 *
 * Several threads of one listener share one `AccessShare`, so that a rate limit holds for all of them
 * together. With `OPEN_ACCESS` everyone is allowed everything: `decideListener` lets such a listener
 * start only on the loopback interface, or if the operator said that it may be insecure.
 */
export class AccessControl {
  /** Takes an entry for each change that a client asks for. */
  readonly audit: AuditSink
  /** Requests that were refused for their token. */
  readonly refused: RefusedRequests = { UNAUTHENTICATED: 0, ACCESS_DENIED: 0 }
  /** Proxies before an HTTP port. */
  readonly proxies: TrustedProxies
  private readonly people: PeopleTokens | undefined
  private readonly clock: Clock
  private isOpen: boolean
  private verifier: TokenVerifier
  private buckets: ReadonlyMap<string, RateBucket>
  private uses: TokenUses

  constructor(share: AccessShare, clock: Clock, { audit = () => {}, people }: AccessParts = {}) {
    this.audit = audit
    this.proxies = new TrustedProxies(share.proxies)
    this.people = people
    this.clock = clock
    this.isOpen = !share.needsToken
    this.verifier = new TokenVerifier(share)
    this.buckets = bucketsOf(share)
    this.uses = new TokenUses(share.uses)
  }

  /** Uses other tokens from now on, when the file has changed. Rate limits start again. */
  replace(share: AccessShare): void {
    this.isOpen = !share.needsToken
    this.verifier = new TokenVerifier(share)
    this.buckets = bucketsOf(share)
    this.uses = new TokenUses(share.uses)
  }

  /** Whether requests need a token. */
  get needsToken(): boolean {
    return !this.isOpen
  }

  /** The holder of a token; undefined for a missing, wrong or expired one. Takes nothing from its rate. */
  authenticate(token: string | undefined, from?: RequestSource): Principal | undefined {
    if (this.isOpen) return ANONYMOUS
    if (token === undefined) return undefined
    const nowMs = this.clock.nowMs()
    if (this.people?.takes(token) === true) return this.people.find(token)
    const verified = this.verifier.verify(token, nowMs)
    if (verified !== undefined) this.uses.note(verified.index, nowMs, from)
    return verified
  }

  /**
   * Verifies the token of a person that this process does not know yet; wait for it before `authorize`. Undefined where
   * there is nothing to wait for.
   */
  prove(token: string | undefined): Promise<void> | undefined {
    const { people } = this
    if (people === undefined || token === undefined || !people.takes(token)) return undefined
    return people.find(token) === undefined ? people.verify(token) : undefined
  }

  /** Whether a request that needs a role may run; it counts in the rate of its token. */
  authorize(
    token: string | undefined,
    needed: Role,
    { on, from, requests = 1 }: RequestFacts = NO_FACTS,
  ): AccessDecision {
    const principal = this.authenticate(token, from)
    if (principal === undefined) {
      this.refused.UNAUTHENTICATED += 1
      return unauthenticated(token)
    }
    const error = refusalOf(principal, needed, on)
    if (error !== undefined) {
      this.refused.ACCESS_DENIED += 1
      return { kind: 'forbidden', status: 403, error, principal }
    }
    const retryAfterMs = this.takeFrom(principal, requests)
    return retryAfterMs === 0
      ? { kind: 'allowed', principal }
      : { kind: 'limited', status: 429, error: limitedError(retryAfterMs), retryAfterMs, principal }
  }

  /** Whether a holder's token is still accepted: for a connection that authenticates once. */
  holds(principal: Principal): boolean {
    if (this.isOpen) return true
    if (principal.id.startsWith(PERSON)) return this.clock.nowMs() < (principal.expiresMs ?? 0)
    const { id, role, rights } = principal
    const held = this.verifier.holder(id, this.clock.nowMs())
    return held?.role === role && rightsText(held.rights) === rightsText(rights)
  }

  /** Rate limit of a holder, for a connection that authenticates once; undefined without a limit. */
  bucketOf(principal: Principal): RateBucket | undefined {
    return this.buckets.get(principal.id)
  }

  /** Takes requests that have run already from the rate of a token; the next ones wait for them. */
  charge(token: string | undefined, requests: number): void {
    if (requests === 0 || this.buckets.size === 0) return
    const principal = this.authenticate(token)
    if (principal !== undefined) this.bucketOf(principal)?.spend(requests, this.clock.monotonicMs())
  }

  private takeFrom(principal: Principal, requests: number): number {
    return this.bucketOf(principal)?.take(requests, this.clock.monotonicMs()) ?? 0
  }
}

function unauthenticated(token: string | undefined): AccessDecision {
  return { kind: 'unauthenticated', status: 401, error: unauthenticatedError(token) }
}

/**
 * Whose share of things that can be counted a request takes: that of its token, or of its address where no token is
 * needed. Undefined for a user of this machine without a token, who has no share.
 */
export function shareHolderOf(
  principal: Principal | undefined,
  address: string,
): string | undefined {
  if (principal !== undefined && principal.id !== ANONYMOUS_ID) return principal.id
  return isLoopback(address) ? undefined : address
}

/** Whether a holder may do what `needed` asks for with an object; a token without rights has its role on all. */
export function mayOn(principal: Principal, needed: Role, object: AccessObject): boolean {
  const { rights, role } = principal
  const own = rights === undefined ? role : roleOn(rights, object)
  return own !== undefined && mayActAs(own, needed)
}

/** Throws ACCESS_DENIED, unless a holder may do what `needed` asks for with an object. */
export function requireOn(principal: Principal, needed: Role, object: AccessObject): void {
  const error = refusalOf(principal, needed, object)
  if (error !== undefined) throw error
}

/** Why a holder may not do what `needed` asks for; undefined when it may. */
function refusalOf(
  principal: Principal,
  needed: Role,
  on: RequestFacts['on'],
): WeirError | undefined {
  const { rights, role } = principal
  if (rights === undefined || on === undefined) {
    return mayActAs(role, needed) ? undefined : roleError(principal, needed)
  }
  const denied = [on].flat().find((object) => !mayOn(principal, needed, object))
  return denied === undefined ? undefined : rightError(principal, needed, denied)
}

function rightsText(rights: Principal['rights']): string | undefined {
  return rights?.map(rightText).join(' ')
}

function bucketsOf({ records, buckets }: AccessShare): ReadonlyMap<string, RateBucket> {
  const words = new BigInt64Array(buckets)
  const limited = records.flatMap(({ id, limit }, index) =>
    limit === undefined ? [] : [[id, new RateBucket(limit, words, index)] as const],
  )
  return new Map(limited)
}
