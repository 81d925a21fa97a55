import type { Clock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { RateBucket } from './rate-bucket.ts'
import { mayActAs, type Role } from './role.ts'
import { digestOf, type TokenRecord } from './token.ts'
import { type AcceptedTokens, type Principal, TokenVerifier } from './token-verifier.ts'

/** Accepted tokens and the counters of their rate limits: plain data that threads can share. */
export interface AccessShare extends AcceptedTokens {
  /** Whether requests need a token. Without this, a file whose last token is revoked would open the port. */
  readonly needsToken: boolean
  /** A 64-bit word for each record, in their order. */
  readonly buckets: SharedArrayBuffer
}

/** Whether a request may run. `status` is that of an HTTP answer. */
export type AccessDecision =
  | { readonly kind: 'allowed'; readonly principal: Principal }
  | { readonly kind: 'unauthenticated'; readonly status: 401; readonly error: WeirError }
  | { readonly kind: 'forbidden'; readonly status: 403; readonly error: WeirError }
  | {
      readonly kind: 'limited'
      readonly status: 429
      readonly error: WeirError
      /** Time after which the request may be sent again, in ms. */
      readonly retryAfterMs: number
    }

const BYTES_PER_WORD = 8
const ANONYMOUS: Principal = { id: 'anonymous', name: '', role: 'admin' }

/** Data of an `AccessControl` that allows everything to everyone. */
export const OPEN_ACCESS: AccessShare = {
  needsToken: false,
  records: [],
  buckets: new SharedArrayBuffer(0),
}

/**
 * Data of an `AccessControl` that accepts the tokens of a file, and a shared token with the role `admin`
 * if one is given. With neither it refuses everyone.
 */
export function shareAccess(records: readonly TokenRecord[], sharedToken?: string): AccessShare {
  return {
    needsToken: true,
    records,
    buckets: new SharedArrayBuffer(records.length * BYTES_PER_WORD),
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
  private readonly clock: Clock
  private isOpen: boolean
  private verifier: TokenVerifier
  private buckets: ReadonlyMap<string, RateBucket>

  constructor(share: AccessShare, clock: Clock) {
    this.clock = clock
    this.isOpen = !share.needsToken
    this.verifier = new TokenVerifier(share)
    this.buckets = bucketsOf(share)
  }

  /** Uses other tokens from now on, when the file has changed. Rate limits start again. */
  replace(share: AccessShare): void {
    this.isOpen = !share.needsToken
    this.verifier = new TokenVerifier(share)
    this.buckets = bucketsOf(share)
  }

  /** Whether requests need a token. */
  get needsToken(): boolean {
    return !this.isOpen
  }

  /** The holder of a token; undefined for a missing, wrong or expired one. Takes nothing from its rate. */
  authenticate(token: string | undefined): Principal | undefined {
    if (this.isOpen) return ANONYMOUS
    return token === undefined ? undefined : this.verifier.verify(token, this.clock.nowMs())
  }

  /** Whether a request that needs a role may run; it counts as `requests` in the rate of its token. */
  authorize(token: string | undefined, needed: Role, requests = 1): AccessDecision {
    const principal = this.authenticate(token)
    if (principal === undefined) return unauthenticated(token)
    if (!mayActAs(principal.role, needed)) return forbidden(principal, needed)
    const retryAfterMs = this.takeFrom(principal, requests)
    return retryAfterMs === 0
      ? { kind: 'allowed', principal }
      : { kind: 'limited', status: 429, error: limitedError(retryAfterMs), retryAfterMs }
  }

  /** Whether a holder's token is still accepted: for a connection that authenticates once. */
  holds(principal: Principal): boolean {
    if (this.isOpen) return true
    const { id, role } = principal
    return this.verifier.holder(id, this.clock.nowMs())?.role === role
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

/** The error of a request above the rate of its token. */
export function limitedError(retryAfterMs: number): WeirError {
  const waitMs = Math.ceil(retryAfterMs)
  return new WeirError(
    'OVERLOADED',
    `the token has used up its rate of requests; try again after ${waitMs} ms`,
    { details: { retryAfterMs: waitMs } },
  )
}

/** The error of a request without a valid token. */
export function unauthenticatedError(token: string | undefined): WeirError {
  const what = token === undefined || token === '' ? 'missing' : 'wrong, expired or revoked'
  return new WeirError(
    'UNAUTHENTICATED',
    `the token is ${what}; give one that "weir token create" has printed`,
  )
}

function unauthenticated(token: string | undefined): AccessDecision {
  return { kind: 'unauthenticated', status: 401, error: unauthenticatedError(token) }
}

function forbidden({ id, role }: Principal, needed: Role): AccessDecision {
  const error = new WeirError(
    'ACCESS_DENIED',
    `token ${id} has the role "${role}"; this needs "${needed}"`,
    { details: { role, needed } },
  )
  return { kind: 'forbidden', status: 403, error }
}

function bucketsOf({ records, buckets }: AccessShare): ReadonlyMap<string, RateBucket> {
  const words = new BigInt64Array(buckets)
  const limited = records.flatMap(({ id, limit }, index) =>
    limit === undefined ? [] : [[id, new RateBucket(limit, words, index)] as const],
  )
  return new Map(limited)
}
