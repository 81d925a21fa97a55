import { WeirError } from '../../core/errors.ts'
import type { PlaceAddress } from './address.ts'
import { PlaceHttp, type RequestHeaders } from './http.ts'
import type {
  ModelPlace,
  PlaceContent,
  PlaceEnvironment,
  PlaceFile,
  PlaceListing,
  StatedChecksum,
} from './port.ts'

const CREDENTIALS =
  'set HF_TOKEN to a token of an account that may read it, and check the name: the Hub also asks for a token where there is no such repository'
/** Most pages of the list of a repository. */
const MOST_PAGES = 50

type HuggingFaceAddress = Extract<PlaceAddress, { kind: 'hf' }>

/** How the Hub is reached; `timeoutMs` as in `PlaceHttpOptions`. */
export interface HuggingFaceOptions {
  readonly environment: PlaceEnvironment
  readonly timeoutMs?: number
}

interface TreeEntry {
  readonly type: string
  readonly path: string
  readonly size: number
  readonly oid: string
  readonly lfs?: { readonly oid: string; readonly size: number }
}

/**
 * A repository of the Hugging Face Hub at one commit: what its revision is when it is listed. Each file has a checksum:
 * the SHA-256 of large ones, the id in git of others. Variables: HF_TOKEN, HF_ENDPOINT.
 */
export class HuggingFacePlace implements ModelPlace {
  private readonly address: HuggingFaceAddress
  private readonly http: PlaceHttp
  private readonly endpoint: string
  private readonly headers: RequestHeaders
  private commit = ''

  /** Throws INVALID_ARGUMENT when HF_ENDPOINT is wrong. */
  constructor(address: HuggingFaceAddress, options: HuggingFaceOptions) {
    const { environment } = options
    this.address = address
    this.http = new PlaceHttp({
      party: 'the Hugging Face Hub',
      credentials: CREDENTIALS,
      ...options,
    })
    this.endpoint = (environment['HF_ENDPOINT'] || 'https://huggingface.co').replace(/\/+$/, '')
    if (!/^https?:$/.test(URL.parse(this.endpoint)?.protocol ?? '')) {
      throw new WeirError('INVALID_ARGUMENT', 'HF_ENDPOINT is no http(s) address')
    }
    const token = environment['HF_TOKEN']
    this.headers = token ? { authorization: `Bearer ${token}` } : {}
  }

  async list(): Promise<PlaceListing> {
    this.commit = await this.resolve()
    const files: PlaceFile[] = []
    let url: URL | undefined = this.url(
      `api/models/${this.address.repository}/tree/${this.commit}?recursive=true`,
    )
    for (let page = 0; url !== undefined; page++) {
      if (page === MOST_PAGES)
        throw this.http.wrong(url, `has too many files in ${this.address.repository}`)
      const { head, json } = await this.http.json(url, this.headers, 'list of files')
      if (!Array.isArray(json)) throw this.http.wrong(url, 'sent no list of files')
      for (const entry of json as unknown[]) this.add(entry, files, url)
      url = nextOf(head.headers['link'], url)
    }
    if (files.length > 0) return { revision: this.commit, files }
    const { repository, path } = this.address
    const where = path === '' ? '' : ` "${path}" in`
    const message = `there is no file${where} hf://${repository} at ${this.commit.slice(0, 12)}`
    throw new WeirError('FILE_NOT_FOUND', message)
  }

  async open(file: PlaceFile, from: number): Promise<PlaceContent> {
    const { repository } = this.address
    const path = pathIn(file).split('/').map(encodeURIComponent).join('/')
    const url = this.url(`${repository}/resolve/${this.commit}/${path}`)
    const what = `"${pathIn(file)}" in ${repository}`
    const content = await this.http.content(url, { headers: this.headers, from, what })
    return { ...content, checksum: file.checksum }
  }

  /** The commit of the revision. */
  private async resolve(): Promise<string> {
    const { repository, revision = 'main' } = this.address
    const url = this.url(`api/models/${repository}/revision/${encodeURIComponent(revision)}`)
    const { json } = await this.http.json(url, this.headers, `model ${repository} at ${revision}`)
    const sha = (json as { readonly sha?: unknown } | null)?.sha
    if (typeof sha === 'string' && /^[0-9a-f]{40,64}$/.test(sha)) return sha
    throw this.http.wrong(url, `named no commit of ${repository}`)
  }

  private add(value: unknown, files: PlaceFile[], url: URL): void {
    const entry = value as TreeEntry | null
    if (entry?.type !== 'file') return
    const { path, oid, size, lfs } = entry
    const id = lfs?.oid ?? oid
    const bytes = lfs?.size ?? size
    const isRight = typeof path === 'string' && /^[0-9a-f]{40,64}$/.test(String(id))
    if (!isRight || !Number.isSafeInteger(bytes))
      throw this.http.wrong(url, 'sent a wrong entry of a list')
    const inside = this.inside(path)
    if (inside === undefined) return
    const algorithm: StatedChecksum['algorithm'] = lfs === undefined ? 'git-sha1' : 'sha256'
    // Of a repository whose ids in git are SHA-256 nothing is known that can be compared.
    const checksum = lfs !== undefined || id.length === 40 ? { algorithm, hex: id } : undefined
    const file = { path: inside, bytes, identity: `${path} ${id}` }
    files.push(checksum === undefined ? file : { ...file, checksum })
  }

  /** The path from the folder that was asked for; undefined for what is not in it. */
  private inside(path: string): string | undefined {
    const asked = this.address.path
    if (asked === '') return path
    if (path === asked) return path.slice(path.lastIndexOf('/') + 1)
    return path.startsWith(`${asked}/`) ? path.slice(asked.length + 1) : undefined
  }

  private url(path: string): URL {
    return new URL(`${this.endpoint}/${path}`)
  }
}

/** The path in the repository. */
function pathIn({ identity }: PlaceFile): string {
  return identity.slice(0, identity.lastIndexOf(' '))
}

/** The next page of a list, which is on the same server. */
function nextOf(link: string | string[] | undefined, from: URL): URL | undefined {
  const [, target] = /<([^>]*)>\s*;\s*rel="next"/.exec(String(link ?? '')) ?? []
  const next = target === undefined ? null : URL.parse(target, from)
  return next === null || next.origin !== from.origin ? undefined : next
}
