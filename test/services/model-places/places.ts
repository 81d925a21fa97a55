import { createHash } from 'node:crypto'
import { parsePlace } from '../../../src/inference/places/address.ts'
import { openPlace } from '../../../src/inference/places/open.ts'
import type { ModelPlace, PlaceEnvironment } from '../../../src/inference/places/port.ts'
import { PlaceServer, type ServedAnswer, type ServedRequest } from './place-server.ts'

/** Files by path. */
export type ServedFiles = Map<string, Uint8Array>

/** A place on a server of this process. */
export interface ServedPlace {
  readonly server: PlaceServer
  /** As a user writes it. */
  readonly address: string
  readonly environment: PlaceEnvironment
  /** The files as the server has them; a test may change them. */
  readonly files: ServedFiles
  readonly place: ModelPlace
}

/** A kind of place and what a test must know of it. */
export interface PlaceKind {
  readonly statesChecksums: boolean
  serve(files: ServedFiles): Promise<ServedPlace>
}

const NOT_FOUND: ServedAnswer = { status: 404 }
const COMMIT = 'c0ffee'.padEnd(40, '0')
const json = (value: unknown): ServedAnswer => ({ body: JSON.stringify(value) })

export const hash = (algorithm: string, bytes: Uint8Array, prefix = ''): string =>
  createHash(algorithm).update(prefix).update(bytes).digest('hex')

/** Checksums of the files when a list is sent: what changes later is damage. */
class Stated {
  private readonly known = new Map<string, string>()

  of(path: string, compute: () => string): string {
    const stated = this.known.get(path) ?? compute()
    this.known.set(path, stated)
    return stated
  }
}

async function served(
  files: ServedFiles,
  address: string,
  variables: (server: PlaceServer) => PlaceEnvironment,
  answer: (request: ServedRequest) => ServedAnswer,
  named = (_: PlaceServer, text: string): string => text,
): Promise<ServedPlace> {
  const server = await PlaceServer.start(answer)
  const environment = variables(server)
  const full = named(server, address)
  const place = openPlace(parsePlace(full)!, { environment, nowMs: () => Date.now() })
  return { server, address: full, environment, files, place }
}

/** Answers as the Hub sends them: lists in pages of two entries, large files over a redirect. */
const hub: PlaceKind = {
  statesChecksums: true,
  serve(files) {
    const stated = new Stated()
    const entry = (path: string) => {
      const bytes = files.get(path)!
      const size = bytes.length
      const oid = stated.of(`git ${path}`, () => hash('sha1', bytes, `blob ${size}\0`))
      const sha = stated.of(path, () => hash('sha256', bytes))
      const isLarge = path.endsWith('.onnx')
      return { type: 'file', path, size, oid, ...(isLarge ? { lfs: { oid: sha, size } } : {}) }
    }
    return served(
      files,
      'hf://owner/net@v1',
      ({ url }) => ({ HF_ENDPOINT: url, HF_TOKEN: 'hf_secret' }),
      ({ url, headers }) => {
        const path = decodeURIComponent(url.pathname)
        if (path === '/api/models/owner/net/revision/v1') return json({ sha: COMMIT })
        if (path === `/api/models/owner/net/tree/${COMMIT}`) {
          const from = Number(url.searchParams.get('cursor') ?? 0)
          const all = [
            { type: 'directory', path: 'onnx', oid: COMMIT },
            ...[...files.keys()].map(entry),
          ]
          const next = `<${url.origin}${url.pathname}?recursive=true&cursor=${from + 2}>; rel="next"`
          const link = from + 2 < all.length ? { link: next } : {}
          return { headers: link, body: JSON.stringify(all.slice(from, from + 2)) }
        }
        if (path.startsWith('/large/')) {
          return headers.authorization === undefined
            ? { body: files.get(path.slice(7))! }
            : { status: 400 }
        }
        const name = path.replace(`/owner/net/resolve/${COMMIT}/`, '')
        const bytes = files.get(name)
        if (bytes === undefined) return NOT_FOUND
        // Another origin of the same server: it must get no token.
        const location = `http://localhost:${url.port}/large/${name}`
        return name.endsWith('.onnx') ? { status: 302, headers: { location } } : { body: bytes }
      },
    )
  },
}

/** Answers as S3 sends them, in pages of two keys. */
const s3: PlaceKind = {
  statesChecksums: true,
  serve(files) {
    const stated = new Stated()
    const etag = (path: string): string =>
      `"${stated.of(path, () => hash('md5', files.get(path)!))}"`
    const contents = (path: string): string =>
      `<Contents><Key>nets/${encodeURIComponent(path)}</Key><ETag>${etag(path).replaceAll('"', '&quot;')}</ETag><Size>${files.get(path)!.length}</Size></Contents>`
    return served(
      files,
      's3://bucket/nets/',
      ({ url }) => ({
        AWS_ENDPOINT_URL: url,
        AWS_ACCESS_KEY_ID: 'id',
        AWS_SECRET_ACCESS_KEY: 'key',
      }),
      ({ url, headers }) => {
        if (headers.authorization?.startsWith('AWS4-HMAC-SHA256 Credential=id/') !== true) {
          return { status: 403 }
        }
        if (url.pathname === '/bucket/') {
          const from = Number(url.searchParams.get('continuation-token') ?? 0)
          const keys = [...files.keys()].slice(from, from + 2).map(contents)
          const rest =
            from + 2 < files.size
              ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${from + 2}</NextContinuationToken>`
              : '<IsTruncated>false</IsTruncated>'
          return {
            body: `<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType>${rest}${keys.join('')}</ListBucketResult>`,
          }
        }
        const path = decodeURIComponent(url.pathname.replace('/bucket/nets/', ''))
        const bytes = files.get(path)
        if (bytes === undefined) return NOT_FOUND
        return headers['if-match'] === etag(path) ? { body: bytes } : { status: 412 }
      },
    )
  },
}

/** Answers as MLflow sends them. */
const mlflow: PlaceKind = {
  statesChecksums: false,
  serve(files) {
    return served(
      files,
      'mlflow:models:/net/Production',
      ({ url }) => ({ MLFLOW_TRACKING_URI: url, MLFLOW_TRACKING_TOKEN: 'token' }),
      ({ url, headers }) => {
        if (headers.authorization !== 'Bearer token') return { status: 401 }
        const { pathname, searchParams } = url
        if (pathname === '/api/2.0/mlflow/registered-models/get-latest-versions') {
          const isThere = searchParams.get('stages') === 'Production'
          return json(isThere ? { model_versions: [{ version: '3' }] } : {})
        }
        if (pathname === '/api/2.0/mlflow/model-versions/get-download-uri') {
          return json({ artifact_uri: 'mlflow-artifacts:/0/run/artifacts/net' })
        }
        const root = '/api/2.0/mlflow-artifacts/artifacts'
        if (pathname === root) {
          const folder = searchParams.get('path')!.replace('0/run/artifacts/net/', '')
          const inside = [...files].filter(([path]) => path.startsWith(folder))
          const entries = new Map(
            inside.map(([path, bytes]) => {
              const [name, ...deeper] = path.slice(folder.length).split('/')
              const isFolder = deeper.length > 0
              return [
                name!,
                isFolder
                  ? { path: name, is_dir: true }
                  : { path: name, is_dir: false, file_size: bytes.length },
              ]
            }),
          )
          return json({ files: [...entries.values()] })
        }
        const bytes = files.get(
          decodeURIComponent(pathname.replace(`${root}/0/run/artifacts/net/`, '')),
        )
        return bytes === undefined ? NOT_FOUND : { body: bytes }
      },
    )
  },
}

/** Answers as an OCI registry sends them, with a token of its own. */
const oci: PlaceKind = {
  statesChecksums: true,
  serve(files) {
    const stated = new Stated()
    const digest = (path: string): string =>
      `sha256:${stated.of(path, () => hash('sha256', files.get(path)!))}`
    return served(
      files,
      '/team/net:v1',
      () => ({ OCI_USERNAME: 'user', OCI_PASSWORD: 'password' }),
      ({ url, headers }) => {
        if (url.pathname === '/token') {
          const basic = `Basic ${Buffer.from('user:password').toString('base64')}`
          const isRight =
            headers.authorization === basic && url.searchParams.get('scope') === 'pull'
          return isRight ? json({ token: 'given' }) : { status: 401 }
        }
        if (headers.authorization !== 'Bearer given') {
          const challenge = `Bearer realm="${url.origin}/token",service="registry",scope="pull"`
          return { status: 401, headers: { 'www-authenticate': challenge } }
        }
        if (url.pathname === '/v2/team/net/manifests/v1') {
          const layers = [...files].map(([path, { length }]) => ({
            ...{ digest: digest(path), size: length },
            annotations: { 'org.opencontainers.image.title': path },
          }))
          return json({ schemaVersion: 2, layers })
        }
        const path = [...files.keys()].find((one) => url.pathname.endsWith(`/blobs/${digest(one)}`))
        return path === undefined ? NOT_FOUND : { body: files.get(path)! }
      },
      ({ url }, text) => `oci://${url.slice('http://'.length)}${text}`,
    )
  },
}

/** The kinds of places, each with a server of this process. */
export const PLACE_KINDS: Readonly<Record<string, PlaceKind>> = { hub, s3, mlflow, oci }
