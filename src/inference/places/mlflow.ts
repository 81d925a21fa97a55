import { requireArgument, WeirError } from '../../core/errors.ts'
import { isPath, type PlaceAddress, parsePlace } from './address.ts'
import { PlaceHttp, type RequestHeaders } from './http.ts'
import type { ModelPlace, PlaceContent, PlaceFile, PlaceListing } from './port.ts'
import { type S3Options, S3Place } from './s3.ts'

const CREDENTIALS =
  'set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD'
const API = 'api/2.0/mlflow'
const ARTIFACTS = 'api/2.0/mlflow-artifacts/artifacts'
/** Most folders of a version. */
const MOST_FOLDERS = 200

type MlflowAddress = Extract<PlaceAddress, { kind: 'mlflow' }>

/**
 * A version of a model in MLflow's registry, found by number, alias or stage. Its files are read through the server that
 * has them (`mlflow-artifacts:`), or from S3 where the registry says so. Variables: MLFLOW_TRACKING_URI, the credentials,
 * and those of S3. MLflow states no checksums.
 */
export class MlflowPlace implements ModelPlace {
  private readonly address: MlflowAddress
  private readonly options: S3Options
  private readonly http: PlaceHttp
  private readonly server: string
  private readonly headers: RequestHeaders
  private inner: ModelPlace | undefined

  /** Throws INVALID_ARGUMENT when MLFLOW_TRACKING_URI is missing or wrong. */
  constructor(address: MlflowAddress, options: S3Options) {
    const { environment } = options
    this.address = address
    this.options = options
    this.http = new PlaceHttp({ party: 'MLflow', credentials: CREDENTIALS, ...options })
    this.server = (environment['MLFLOW_TRACKING_URI'] ?? '').replace(/\/+$/, '')
    requireArgument(
      /^https?:\/\/[^/]/.test(this.server) && URL.canParse(this.server),
      'set MLFLOW_TRACKING_URI to the http(s) address of the MLflow server',
    )
    this.headers = authorizationOf(environment)
  }

  async list(): Promise<PlaceListing> {
    const version = await this.version()
    const { json } = await this.ask('model-versions/get-download-uri', { version })
    const uri = String((json as { readonly artifact_uri?: unknown } | null)?.artifact_uri ?? '')
    this.inner = this.filesAt(uri)
    const { files } = await this.inner.list()
    return { revision: `version ${version}`, files }
  }

  async open(file: PlaceFile, from: number): Promise<PlaceContent> {
    if (this.inner === undefined) {
      throw new WeirError('ILLEGAL_STATE', 'list the files before one is opened')
    }
    return await this.inner.open(file, from)
  }

  /** The number of the version that the address names. */
  private async version(): Promise<string> {
    const { kind, text } = this.address.version
    if (kind === 'number') return text
    const { json, head } =
      kind === 'alias'
        ? await this.ask('registered-models/alias', { alias: text })
        : await this.ask('registered-models/get-latest-versions', { stages: text })
    const answer = json as {
      readonly model_version?: { readonly version?: unknown }
      readonly model_versions?: readonly { readonly version?: unknown }[]
    } | null
    const version = answer?.model_version?.version ?? answer?.model_versions?.[0]?.version
    if (/^[1-9][0-9]*$/.test(String(version))) return String(version)
    const isNone = kind === 'stage' && version === undefined
    if (!isNone) throw this.http.wrong(head.url, 'named no version of the model')
    const message = `no version of ${this.address.model} in MLflow is in the stage "${text}"`
    throw new WeirError('FILE_NOT_FOUND', message)
  }

  private ask(call: string, parameters: Readonly<Record<string, string>>) {
    const url = new URL(`${this.server}/${API}/${call}`)
    url.searchParams.set('name', this.address.model)
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return this.http.json(url, this.headers, `such version of the model ${this.address.model}`)
  }

  /** The place that the registry names: never another host than those of the environment. */
  private filesAt(uri: string): ModelPlace {
    const folder = uri.endsWith('/') ? uri : `${uri}/`
    if (uri.startsWith('s3://')) {
      const place = parsePlace(folder)
      if (place?.kind === 's3') return new S3Place(place, this.options)
    }
    const [, path] = /^mlflow-artifacts:(?:\/\/[^/]*)?\/(.*)$/s.exec(folder) ?? []
    if (path !== undefined && isPath(path)) {
      return new MlflowArtifacts(this.http, this.server, this.headers, path)
    }
    const scheme = /^([a-z][a-z0-9+.-]{0,20}):/.exec(uri)?.[1] ?? 'files of the server'
    throw new WeirError(
      'UNSUPPORTED',
      `MLflow keeps this version in a place of the kind ${scheme}; Weir reads mlflow-artifacts (mlflow server --serve-artifacts) and s3`,
    )
  }
}

/** The files of one folder that an MLflow server hands out. */
class MlflowArtifacts implements ModelPlace {
  private readonly http: PlaceHttp
  private readonly server: string
  private readonly headers: RequestHeaders
  /** Path of the folder; ends with "/". */
  private readonly folder: string

  constructor(http: PlaceHttp, server: string, headers: RequestHeaders, folder: string) {
    this.http = http
    this.server = server
    this.headers = headers
    this.folder = folder
  }

  async list(): Promise<PlaceListing> {
    const files: PlaceFile[] = []
    const folders = ['']
    for (let next = 0; next < folders.length; next++) {
      const url = new URL(`${this.server}/${ARTIFACTS}`)
      if (next === MOST_FOLDERS) throw this.http.wrong(url, `has more than ${MOST_FOLDERS} folders`)
      url.searchParams.set('path', this.folder + folders[next]!)
      const { json } = await this.http.json(url, this.headers, 'list of files')
      const entries = (json as { readonly files?: unknown } | null)?.files
      if (!Array.isArray(entries)) throw this.http.wrong(url, 'sent no list of files')
      for (const entry of entries as unknown[])
        this.add(entry, folders[next]!, { files, folders, url })
    }
    return { revision: undefined, files }
  }

  async open(file: PlaceFile, from: number): Promise<PlaceContent> {
    const path = (this.folder + file.path).split('/').map(encodeURIComponent).join('/')
    const url = new URL(`${this.server}/${ARTIFACTS}/${path}`)
    const wanted = { headers: this.headers, from, what: `"${file.path}"` }
    return { ...(await this.http.content(url, wanted)), checksum: undefined }
  }

  private add(
    value: unknown,
    parent: string,
    found: { readonly files: PlaceFile[]; readonly folders: string[]; readonly url: URL },
  ): void {
    const entry = value as {
      readonly path?: unknown
      readonly is_dir?: unknown
      readonly file_size?: unknown
    } | null
    const name = String(entry?.path ?? '')
      .replace(/\/+$/, '')
      .split('/')
      .at(-1)!
    const bytes = Number(entry?.file_size)
    const path = `${parent}${name}`
    if (name === '' || name === '..')
      throw this.http.wrong(found.url, 'sent a wrong entry of a list')
    if (entry?.is_dir === true) found.folders.push(`${path}/`)
    else if (!Number.isSafeInteger(bytes))
      throw this.http.wrong(found.url, 'sent a file without a length')
    else found.files.push({ path, bytes, identity: `${this.folder}${path} ${bytes}` })
  }
}

function authorizationOf(environment: S3Options['environment']): RequestHeaders {
  const token = environment['MLFLOW_TRACKING_TOKEN']
  if (token) return { authorization: `Bearer ${token}` }
  const user = environment['MLFLOW_TRACKING_USERNAME']
  if (!user) return {}
  const secret = `${user}:${environment['MLFLOW_TRACKING_PASSWORD'] ?? ''}`
  return { authorization: `Basic ${Buffer.from(secret).toString('base64')}` }
}
