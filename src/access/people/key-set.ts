import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters } from 'jose'
import type { PeopleSettings } from '../people-settings.ts'

/** Finds the key of a token. */
export type KeyFinder = (
  header: JWSHeaderParameters,
  token: FlattenedJWSInput,
) => Promise<CryptoKey>

const TIMEOUT_MS = 5_000
/** Time between two requests for a key that the set does not have: anyone may name one. */
const COOLDOWN_MS = 30_000
const MAX_AGE_MS = 600_000
const MOST_BYTES = 1024 * 1024

type Jose = typeof import('jose')

/** The key set of the settings. One from a URL is fetched when it is needed, and again for a key that is new. */
export function keyFinderOf(
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
