import { createHash, createHmac } from 'node:crypto'

/** Credentials of AWS. */
export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials. */
  readonly sessionToken: string | undefined
}

/** A GET request that is signed. */
export interface SignedRequest {
  readonly url: URL
  /** Names in lower case; all are signed. */
  readonly headers: Readonly<Record<string, string>>
  readonly credentials: S3Credentials
  readonly region: string
  /** Time of the request, ms since 1970. */
  readonly nowMs: number
}

/** SHA-256 of an empty body. */
const EMPTY_BODY = createHash('sha256').digest('hex')

/**
 * The headers of a GET request with its signature: AWS Signature Version 4 with the header `authorization`
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
 */
export function signedHeaders(request: SignedRequest): Record<string, string> {
  const { url, credentials, region, nowMs } = request
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const { sessionToken } = credentials
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-content-sha256': EMPTY_BODY,
    'x-amz-date': time,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  }
  const { text, names } = canonicalRequest(url, headers)
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(text)].join('\n')
  const signature = hmac(signingKey(credentials, scope), toSign).toString('hex')
  headers['authorization'] =
    `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope},SignedHeaders=${names},Signature=${signature}`
  return headers
}

/** A text as a path or a query of a signed request has it. */
export function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function canonicalRequest(url: URL, headers: Readonly<Record<string, string>>) {
  const signed: Readonly<Record<string, string>> = { ...headers, host: url.host }
  const sorted = Object.keys(signed).sort()
  const names = sorted.join(';')
  const query = [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
  const lines = sorted.map((name) => `${name}:${signed[name]!.trim()}\n`).join('')
  const text = ['GET', url.pathname, query.sort().join('&'), lines, names, EMPTY_BODY].join('\n')
  return { text, names }
}

function signingKey({ secretAccessKey }: S3Credentials, scope: string): Buffer {
  const first: string | Buffer = `AWS4${secretAccessKey}`
  return scope.split('/').reduce<string | Buffer>(hmac, first) as Buffer
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
