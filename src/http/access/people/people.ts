import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters, JWTPayload } from 'jose'
import type { Clock } from '../../../core/clock.ts'
import { messageOf } from '../../../core/errors.ts'
import { PERSON } from '../control.ts'
import { grantOf, type PeopleSettings } from '../people-settings.ts'
import { digestOf } from '../token.ts'
import type { Principal } from '../token-verifier.ts'

/** Someone who has signed in at the issuer. */
export interface Person extends Principal {
  /** Time from which the token is refused, ms since 1970. */
  readonly expiresMs: number
}

/** Signatures that are accepted. A shared secret (HMAC) or none would let this server, or anyone, sign. */
const ALGORITHMS = ['RS256', 'ES256']
/** Tokens that are remembered with what they allow; the oldest gives way. */
const MOST_KNOWN = 1_000
const MOST_LENGTH = 16 * 1024
const JWT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/
const WARN_EVERY_MS = 60_000

/** Whether a text has the form of a JSON Web Token; a token of `weir token create` has not. */
export function isJwt(text: string): boolean {
  return text.length <= MOST_LENGTH && JWT.test(text)
}

/** Verifies JSON Web Tokens of one issuer (RFC 7519, OpenID Connect). A token is verified once, and then remembered. */
export class People {
  private readonly settings: PeopleSettings
  private readonly clock: Clock
  private readonly known = new Map<string, Person>()
  private keys:
    | Promise<{ readonly jose: typeof import('jose'); readonly find: KeyFinder }>
    | undefined
  private warnedAt = Number.NEGATIVE_INFINITY

  constructor(settings: PeopleSettings, clock: Clock) {
    this.settings = settings
    this.clock = clock
  }

  /** The person of a token that was verified; undefined for any other, and for one that has expired. */
  find(token: string): Person | undefined {
    const person = this.known.get(keyOf(token))
    return person !== undefined && this.clock.nowMs() < person.expiresMs ? person : undefined
  }

  /** Verifies a token, so that `find` finds its person if it is right. Never rejects. */
  async verify(token: string): Promise<void> {
    try {
      const person = await this.personOf(token)
      if (person === undefined) return
      const oldest = this.known.keys().next().value
      if (this.known.size >= MOST_KNOWN && oldest !== undefined) this.known.delete(oldest)
      this.known.set(keyOf(token), person)
    } catch (error) {
      this.warnIfKeysFail(error)
    }
  }

  private async personOf(token: string): Promise<Person | undefined> {
    this.keys ??= this.open()
    const { jose, find } = await this.keys
    const { issuer, audience, clockSkewSeconds: clockTolerance } = this.settings
    const { payload } = await jose.jwtVerify(token, find, {
      algorithms: ALGORITHMS,
      issuer,
      audience,
      clockTolerance,
      currentDate: new Date(this.clock.nowMs()),
      requiredClaims: ['sub', 'exp'],
    })
    const grant = grantOf(this.settings, valuesOf(payload, this.settings.claim))
    if (grant === undefined) return undefined
    const { sub = '', exp = 0, name } = payload
    const expiresMs = (exp + clockTolerance) * 1000
    return {
      id: `${PERSON}${sub}`,
      name: typeof name === 'string' ? name : '',
      ...grant,
      expiresMs,
    }
  }

  private async open() {
    const jose = await import('jose')
    return { jose, find: keyFinderOf(jose, this.settings.keys) }
  }

  /** A wrong token is no one's fault here; keys that cannot be read are. */
  private warnIfKeysFail(error: unknown): void {
    const code = (error as { readonly code?: unknown }).code
    const isToken = typeof code === 'string' && /^ERR_(?:JWT|JWS|JOSE|JWKS_NO)/.test(code)
    const now = this.clock.monotonicMs()
    if ((isToken && code !== 'ERR_JOSE_GENERIC') || now - this.warnedAt < WARN_EVERY_MS) return
    this.warnedAt = now
    const message = `people cannot sign in: the key set of ${this.settings.issuer}: ${messageOf(error)}`
    process.emitWarning(message, { code: 'WEIR_ACCESS' })
  }
}

/** Remembered tokens are no secrets of this process. */
function keyOf(token: string): string {
  return digestOf(token).toString('base64')
}

/** The texts of a claim: a list of them, or one with spaces between them, as in `scope`. */
function valuesOf(payload: JWTPayload, claim: string): readonly string[] {
  const value = payload[claim] ?? claim.split('.').reduce<unknown>(memberOf, payload)
  const list: readonly unknown[] = typeof value === 'string' ? value.split(' ') : [value].flat()
  return list.filter((one) => typeof one === 'string')
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}

/** Finds the key of a token. */
type KeyFinder = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>

const TIMEOUT_MS = 5_000
/** Time between two requests for a key that the set does not have: anyone may name one. */
const COOLDOWN_MS = 30_000
const MAX_AGE_MS = 600_000
const MOST_BYTES = 1024 * 1024

type Jose = typeof import('jose')

/** The key set of the settings. One from a URL is fetched when it is needed, and again for a key that is new. */
function keyFinderOf(
  { createLocalJWKSet, createRemoteJWKSet, customFetch }: Jose,
  keys: PeopleSettings['keys'],
): KeyFinder {
  if ('json' in keys) return createLocalJWKSet(JSON.parse(keys.json)) as KeyFinder
  return createRemoteJWKSet(new URL(keys.url), {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: MAX_AGE_MS,
    [customFetch]: fetchBounded,
  }) as KeyFinder
}

/** As `fetch`, for an answer of bounded length. Redirects are not followed: the caller asks so. */
async function fetchBounded(url: string, options: RequestInit): Promise<Response> {
  const { status, headers, body } = await fetch(url, options)
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > MOST_BYTES) throw new TypeError(`the key set has more than ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return new Response(new Blob(chunks), { status, headers })
}
