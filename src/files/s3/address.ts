import { requireArgument } from '../../core/errors.ts'

/** Parts of an `s3://` URL of checkpoints. */
export interface S3Address {
  readonly bucket: string
  /** Where the keys begin, decoded, without "/" at its ends; empty for the whole bucket. */
  readonly prefix: string
  /** URL of a server that is not AWS; undefined: that of the environment, or AWS. */
  readonly endpoint: string | undefined
  /** Region of the bucket; undefined: that of the environment or the shared configuration. */
  readonly region: string | undefined
  /** Whether the bucket stands in the path of requests and not in the host; undefined: with an endpoint it does. */
  readonly pathStyle: boolean | undefined
  /** Longest silence of the server, ms; undefined: the client's default. */
  readonly timeoutMs: number | undefined
}

const FORM = /^s3:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const SETTINGS = new Set(['endpoint', 'region', 'path-style', 'timeout-ms'])

/**
 * Parses `s3://bucket/prefix?endpoint=URL&region=NAME&path-style=true|false&timeout-ms=MS`. Throws INVALID_ARGUMENT;
 * its message has no value of a setting that is not known, as it may be a secret.
 */
export function parseS3Url(url: string): S3Address {
  const form = FORM.exec(url)
  const bucket = form?.[1] ?? ''
  requireArgument(
    form !== null && BUCKET.test(bucket),
    `"${url.split('?')[0]}" is not an S3 URL: write s3://BUCKET/PREFIX?endpoint=URL, with the name of the bucket in small letters, digits, "-" and "."`,
  )
  const settings = new URLSearchParams(form[3] ?? '')
  for (const name of settings.keys()) {
    requireArgument(
      SETTINGS.has(name),
      `an S3 URL has no setting "${name}"; the settings are ${[...SETTINGS].join(', ')}, and credentials come from the environment or the files of AWS`,
    )
  }
  return {
    bucket,
    prefix: parsePrefix(form[2] ?? ''),
    endpoint: parseEndpoint(settings.get('endpoint')),
    region: parseRegion(settings.get('region')),
    pathStyle: parseTruth(settings.get('path-style')),
    timeoutMs: parseTimeout(settings.get('timeout-ms')),
  }
}

/**
 * The server of a bucket as `HOST:PORT`, by which rights are given. A bucket of AWS is `BUCKET.s3.amazonaws.com:443`,
 * in each region.
 */
export function s3HostOf({ bucket, endpoint }: S3Address): string {
  if (endpoint === undefined) return `${bucket}.s3.amazonaws.com:443`
  const { hostname, port, protocol } = new URL(endpoint)
  return `${hostname.replace(/^\[|\]$/g, '')}:${port || (protocol === 'https:' ? 443 : 80)}`
}

function parsePrefix(text: string): string {
  let path: string | undefined
  try {
    path = decodeURIComponent(text)
  } catch {
    path = undefined
  }
  const parts = path?.split('/').filter((part) => part !== '') ?? ['.']
  // A part that begins with a dot is never listed.
  const isBad = parts.some((part) => part.startsWith('.') || /[\p{Cc}\\]/u.test(part))
  requireArgument(
    !isBad,
    `"${text}" is not a prefix of an S3 URL: write names that do not begin with a dot, joined by "/", percent-encoded`,
  )
  return parts.join('/')
}

function parseEndpoint(text: string | null): string | undefined {
  if (text === null) return undefined
  const url = URL.parse(text)
  const isServer = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === ''
  requireArgument(
    isServer && url.username + url.password === '',
    'endpoint of an S3 URL is http://HOST:PORT or https://HOST:PORT, without a user, a password and a query',
  )
  return text
}

function parseRegion(text: string | null): string | undefined {
  if (text === null) return undefined
  requireArgument(
    /^[a-z0-9-]{1,40}$/.test(text),
    'region of an S3 URL is a name such as eu-central-1',
  )
  return text
}

function parseTruth(text: string | null): boolean | undefined {
  if (text === null) return undefined
  requireArgument(
    text === 'true' || text === 'false',
    `path-style is true or false, not "${text.slice(0, 40)}"`,
  )
  return text === 'true'
}

function parseTimeout(text: string | null): number | undefined {
  if (text === null) return undefined
  requireArgument(
    /^[1-9]\d{0,8}$/.test(text),
    `timeout-ms is a number from 1, not "${text.slice(0, 40)}"`,
  )
  return Number(text)
}
