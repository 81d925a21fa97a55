import { createHash } from 'node:crypto'
import { WeirError } from '../../core/errors.ts'
import { isLoopback } from '../../http/access/listener.ts'
import type { PlaceAddress } from './address.ts'
import { PlaceHttp, type RequestHeaders } from './http.ts'
import type { ModelPlace, PlaceContent, PlaceEnvironment, PlaceFile, PlaceListing } from './port.ts'

const CREDENTIALS = 'set OCI_USERNAME and OCI_PASSWORD'
const MANIFESTS =
  'application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json'
const TITLE = 'org.opencontainers.image.title'
const UNPACK = 'io.deis.oras.content.unpack'

type OciAddress = Extract<PlaceAddress, { kind: 'oci' }>

/** How a registry is reached; `timeoutMs` as in `PlaceHttpOptions`. */
export interface OciOptions {
  readonly environment: PlaceEnvironment
  readonly timeoutMs?: number
}

interface Layer {
  readonly digest?: unknown
  readonly size?: unknown
  readonly annotations?: Readonly<Record<string, unknown>>
}

/**
 * An artifact of an OCI registry whose layers are files with their names, as "oras push" makes it. Each file has its
 * SHA-256. Registries of this machine are asked without TLS. Variables: OCI_USERNAME, OCI_PASSWORD.
 */
export class OciPlace implements ModelPlace {
  private readonly address: OciAddress
  private readonly http: PlaceHttp
  /** `https://HOST/v2/NAME/`. */
  private readonly base: URL
  private readonly basic: RequestHeaders
  private headers: RequestHeaders

  constructor(address: OciAddress, options: OciOptions) {
    const { environment } = options
    this.address = address
    this.http = new PlaceHttp({ party: 'the OCI registry', credentials: CREDENTIALS, ...options })
    this.base = new URL(
      `${protocolOf(address.registry)}//${address.registry}/v2/${address.repository}/`,
    )
    const user = environment['OCI_USERNAME']
    const secret = Buffer.from(`${user}:${environment['OCI_PASSWORD'] ?? ''}`).toString('base64')
    this.basic = user ? { authorization: `Basic ${secret}` } : {}
    this.headers = this.basic
  }

  async list(): Promise<PlaceListing> {
    const { reference, repository } = this.address
    const what = `artifact ${repository} with the reference ${reference}`
    const url = new URL(`manifests/${reference}`, this.base)
    await this.signIn(url)
    const { text, json } = await this.http.json(url, { ...this.headers, accept: MANIFESTS }, what)
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
    if (reference.startsWith('sha256:') && digest !== reference) {
      throw new WeirError('CHECKSUM_MISMATCH', `the ${what} came with another digest, ${digest}`)
    }
    const layers = (json as { readonly layers?: unknown } | null)?.layers
    if (!Array.isArray(layers)) {
      const message = `the ${what} is no artifact with files: it has no layers; name one by its digest`
      throw new WeirError('UNSUPPORTED', message)
    }
    return { revision: digest, files: (layers as Layer[]).map((layer) => this.fileOf(layer, url)) }
  }

  async open(file: PlaceFile, from: number): Promise<PlaceContent> {
    const hex = file.checksum!.hex
    const url = new URL(`blobs/sha256:${hex}`, this.base)
    const wanted = { headers: this.headers, from, what: `"${file.path}"` }
    return { ...(await this.http.content(url, wanted)), checksum: file.checksum }
  }

  private fileOf({ digest, size, annotations }: Layer, url: URL): PlaceFile {
    const path = annotations?.[TITLE]
    const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(String(digest)) ?? []
    if (typeof path !== 'string' || annotations?.[UNPACK] === 'true') {
      const what =
        typeof path === 'string' ? 'a packed folder' : 'a layer without the name of a file'
      const message = `${this.address.repository} has ${what}; push single files with "oras push"`
      throw new WeirError('UNSUPPORTED', message)
    }
    if (hex === undefined || !Number.isSafeInteger(size)) {
      throw this.http.wrong(url, 'sent a layer without digest or size')
    }
    const checksum = { algorithm: 'sha256', hex } as const
    return { path, bytes: size as number, identity: `${path} ${hex}`, checksum }
  }

  /** Gets a token where the registry wants one of its own: the challenge names the server that gives it. */
  private async signIn(url: URL): Promise<void> {
    const answer = await this.http.get(url, { ...this.basic, accept: MANIFESTS })
    answer.leave()
    const challenge = String(answer.headers['www-authenticate'] ?? '')
    if (answer.status !== 401 || !/^bearer /i.test(challenge)) return
    const from = URL.parse(parameterOf(challenge, 'realm') ?? '')
    const isSafe = from?.protocol === 'https:' || from?.origin === url.origin
    if (from === null || !isSafe)
      throw this.http.wrong(url, 'names no safe address that gives tokens')
    for (const name of ['service', 'scope']) {
      const value = parameterOf(challenge, name)
      if (value !== undefined) from.searchParams.set(name, value)
    }
    const { json } = await this.http.json(from, this.basic, 'token')
    const given = json as { readonly token?: unknown; readonly access_token?: unknown } | null
    const token = given?.token ?? given?.access_token
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
      throw this.http.wrong(from, 'gave no token')
    }
    this.headers = { authorization: `Bearer ${token}` }
  }
}

function parameterOf(challenge: string, name: string): string | undefined {
  return new RegExp(`[\\s,]${name}="([^"]*)"`, 'i').exec(challenge)?.[1]
}

function protocolOf(registry: string): 'http:' | 'https:' {
  const { hostname } = new URL(`http://${registry}`)
  return isLoopback(hostname) ? 'http:' : 'https:'
}
