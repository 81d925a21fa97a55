import { WeirError } from '../../core/errors.ts'
import type { PlaceAddress } from './address.ts'
import { type PlaceAnswer, PlaceHttp, type RequestHeaders, rangeHeaders, startOf } from './http.ts'
import type {
  ModelPlace,
  PlaceContent,
  PlaceEnvironment,
  PlaceFile,
  PlaceListing,
  StatedChecksum,
} from './port.ts'
import { readS3Listing } from './s3-listing.ts'
import { encoded, type S3Credentials, signedHeaders } from './s3-signature.ts'

const CREDENTIALS =
  'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN of temporary ones, as "aws configure export-credentials --format env" prints them'
/** Most keys of a folder. */
const MOST_KEYS = 10_000

type S3Address = Extract<PlaceAddress, { kind: 's3' }>

/** How a bucket is reached; `timeoutMs` as in `PlaceHttpOptions`. */
export interface S3Options {
  readonly environment: PlaceEnvironment
  readonly timeoutMs?: number
  readonly nowMs: () => number
}

/**
 * A folder or a file in a bucket of S3, or of a server that speaks its protocol. Variables: AWS_ENDPOINT_URL_S3 or
 * AWS_ENDPOINT_URL (a server of its own), AWS_REGION or AWS_DEFAULT_REGION, and the credentials; without them requests
 * are not signed, as public buckets allow.
 */
export class S3Place implements ModelPlace {
  private readonly address: S3Address
  private readonly options: S3Options
  private readonly http: PlaceHttp
  private readonly region: string
  /** Where the bucket's keys begin; ends with "/". */
  private readonly base: URL
  private readonly credentials: S3Credentials | undefined

  /** Throws INVALID_ARGUMENT when a variable of the environment is wrong. */
  constructor(address: S3Address, options: S3Options) {
    const { environment } = options
    this.address = address
    this.options = options
    this.http = new PlaceHttp({ party: 'S3', credentials: CREDENTIALS, ...options })
    this.region = environment['AWS_REGION'] || environment['AWS_DEFAULT_REGION'] || 'us-east-1'
    this.base = baseOf(address.bucket, this.region, environment)
    this.credentials = credentialsOf(environment)
  }

  async list(): Promise<PlaceListing> {
    const { key } = this.address
    const isFolder = key === '' || key.endsWith('/')
    const files: PlaceFile[] = []
    let token: string | undefined
    do {
      const page = await this.page(token)
      for (const found of page.entries) {
        // A prefix is the beginning of other names, too; a key that ends with "/" is a folder.
        if (found.key.endsWith('/') || (!isFolder && found.key !== key)) continue
        const path = isFolder ? found.key.slice(key.length) : key.slice(key.lastIndexOf('/') + 1)
        files.push({ path, bytes: found.bytes, identity: `${found.key} ${found.etag}` })
      }
      token = page.next
    } while (token !== undefined && files.length <= MOST_KEYS)
    if (files.length > 0) return { revision: undefined, files }
    const hint = isFolder ? '' : `; a folder is written with "/" at its end`
    const message = `s3://${this.address.bucket}/${key} does not exist or is empty${hint}`
    throw new WeirError('FILE_NOT_FOUND', message)
  }

  async open(file: PlaceFile, from: number): Promise<PlaceContent> {
    const split = file.identity.lastIndexOf(' ')
    const key = file.identity.slice(0, split)
    const etag = file.identity.slice(split + 1)
    const url = new URL(key.split('/').map(encoded).join('/'), this.base)
    const headers = rangeHeaders({ headers: { 'if-match': etag }, from })
    const answer = await this.http.get(url, this.signed(url, headers))
    if (answer.status === 412) {
      answer.leave()
      const message = `${key} changed in the bucket while it was read; push it again`
      throw new WeirError('CHECKSUM_MISMATCH', message)
    }
    if (answer.status !== 200 && answer.status !== 206) throw this.refusal(answer, `"${key}"`)
    const start = startOf(answer, from)
    return { from: start, checksum: checksumOf(answer, start, etag), bytes: answer.body }
  }

  private async page(token: string | undefined) {
    const url = new URL(this.base)
    url.searchParams.set('list-type', '2')
    url.searchParams.set('encoding-type', 'url')
    url.searchParams.set('prefix', this.address.key)
    if (token !== undefined) url.searchParams.set('continuation-token', token)
    const what = `list of s3://${this.address.bucket}/${this.address.key}`
    const answer = await this.http.get(url, this.signed(url, {}))
    if (answer.status !== 200) throw this.refusal(answer, what)
    return readS3Listing(await this.http.text(answer, what), url.origin)
  }

  /** The error of an answer; one of another region says where the bucket is. */
  private refusal(answer: PlaceAnswer, what: string): WeirError {
    const region = answer.headers['x-amz-bucket-region']
    if (typeof region !== 'string' || region === this.region || !/^[a-z0-9-]{1,40}$/.test(region)) {
      return this.http.refusal(answer, what)
    }
    answer.leave()
    const message = `the bucket ${this.address.bucket} is in the region ${region}, not in ${this.region}; set AWS_REGION=${region}`
    return new WeirError('INVALID_ARGUMENT', message)
  }

  private signed(url: URL, headers: RequestHeaders): RequestHeaders {
    const { credentials, region } = this
    if (credentials === undefined) return headers
    return signedHeaders({ url, headers, credentials, region, nowMs: this.options.nowMs() })
  }
}

/** AWS has a host for each bucket; its certificates fit names without dots. Other servers have the bucket in the path. */
function baseOf(bucket: string, region: string, environment: PlaceEnvironment): URL {
  const endpoint = environment['AWS_ENDPOINT_URL_S3'] || environment['AWS_ENDPOINT_URL']
  const domain = `s3.${region}.amazonaws.com`
  const text =
    endpoint || (bucket.includes('.') ? `https://${domain}` : `https://${bucket}.${domain}`)
  const base = URL.parse(text)
  if (base === null || !/^https?:$/.test(base.protocol)) {
    const message = `AWS_ENDPOINT_URL or AWS_REGION is wrong: "${text.slice(0, 100)}" is no http(s) address`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  const isInPath = Boolean(endpoint) || bucket.includes('.')
  return new URL(`${base.pathname.replace(/\/*$/, '')}/${isInPath ? `${bucket}/` : ''}`, base)
}

function credentialsOf(environment: PlaceEnvironment): S3Credentials | undefined {
  const accessKeyId = environment['AWS_ACCESS_KEY_ID'] || undefined
  const secretAccessKey = environment['AWS_SECRET_ACCESS_KEY'] || undefined
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const message =
      'only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both, or none for a public bucket'
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  const sessionToken = environment['AWS_SESSION_TOKEN'] || undefined
  return { accessKeyId, secretAccessKey, sessionToken }
}

/**
 * What the answer says of the bytes: their SHA-256 where it was stored with them; else the ETag, which is their MD5 unless
 * they came in parts or were encrypted with a key of a user.
 */
function checksumOf(
  { headers }: PlaceAnswer,
  from: number,
  etag: string,
): StatedChecksum | undefined {
  const sha256 = headers['x-amz-checksum-sha256']
  if (from === 0 && typeof sha256 === 'string' && /^[A-Za-z0-9+/]{43}=$/.test(sha256)) {
    return { algorithm: 'sha256', hex: Buffer.from(sha256, 'base64').toString('hex') }
  }
  const [, md5] = /^"([0-9a-f]{32})"$/.exec(etag) ?? []
  const encryption = headers['x-amz-server-side-encryption'] ?? 'AES256'
  const hasOwnKey = headers['x-amz-server-side-encryption-customer-algorithm'] !== undefined
  if (md5 === undefined || encryption !== 'AES256' || hasOwnKey) return undefined
  return { algorithm: 'md5', hex: md5 }
}
