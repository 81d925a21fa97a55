import { createRequire } from 'node:module'
import { join } from 'node:path'
import { asWeirError, isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { readFileSync } from '../../files/durable-files.ts'
import type { FileSystem } from '../../files/file-system.ts'
import type { ModelSource, PinnedFiles } from '../port/model.ts'
import { isModelName, versionOf } from './name.ts'
import { DEFAULT_SETTINGS, type ModelSettings, settingsOf } from './settings.ts'

/** Name of the file with a model's settings. */
export const DEPLOYMENT_FILE = 'deployment.yaml'
/** Name of the file with a model's aliases. */
export const ALIASES_FILE = 'aliases.json'
/** Name of the file with the checksums of a version that was pushed. */
export const MANIFEST_FILE = 'manifest.json'
/** Names of the file that is a version's model. */
export const MODEL_FILES = [
  'model.onnx',
  'model.ts',
  'model.js',
  'model.mjs',
  'model.json',
] as const

/** A version in the repository. */
export interface FoundVersion {
  readonly version: number
  /** Folder of its files. */
  readonly folder: string
  /** What the engine loads, or why the version cannot be loaded. */
  readonly source: ModelSource | WeirError
  /** Changes when a file of the version does: a folder may be found while its files are still copied. */
  readonly fingerprint: string
}

/** A model in the repository. */
export interface FoundModel {
  readonly name: string
  /** Its settings, or why they cannot be read. */
  readonly settings: ModelSettings | WeirError
  readonly aliases: Readonly<Record<string, number>>
  /** By number, ascending. */
  readonly versions: readonly FoundVersion[]
}

/** Folders of the repository that are no models, with the reason; and the models, by name. */
export interface Scan {
  readonly models: readonly FoundModel[]
  readonly problems: readonly WeirError[]
}

/**
 * Reads what a repository holds: `NAME/VERSION/model.onnx` (or `.ts`, `.js`, `.mjs`, `.json`),
 * `NAME/deployment.yaml`, `NAME/aliases.json`. A model that cannot be read is in the result with its error, so
 * that it holds up no other. Throws FILE_NOT_FOUND when the repository itself is missing.
 */
export async function scanRepository(files: FileSystem, root: string): Promise<Scan> {
  const models: FoundModel[] = []
  const problems: WeirError[] = []
  for (const { name, isFolder } of await listed(files, root)) {
    if (!isFolder || name.startsWith('.')) continue
    if (isModelName(name)) models.push(await new ModelFolder(files, root, name).read())
    else {
      const message = `${join(root, name)} is no model: a name has letters, digits, ".", "-" and "_"`
      problems.push(new WeirError('INVALID_ARGUMENT', message))
    }
  }
  models.sort((a, b) => (a.name < b.name ? -1 : 1))
  return { models, problems }
}

async function listed(files: FileSystem, root: string) {
  try {
    return await files.list(root)
  } catch (error) {
    throw asWeirError(error, 'STORAGE_FAILED', `cannot read the model repository ${root}`)
  }
}

class ModelFolder {
  private readonly files: FileSystem
  private readonly folder: string
  private readonly name: string

  constructor(files: FileSystem, root: string, name: string) {
    this.files = files
    this.folder = join(root, name)
    this.name = name
  }

  async read(): Promise<FoundModel> {
    const entries = await this.files.list(this.folder).catch(() => [])
    const versions: FoundVersion[] = []
    for (const { name, isFolder } of entries) {
      const version = isFolder ? versionOf(name) : undefined
      if (version !== undefined) versions.push(await this.version(version))
    }
    versions.sort((a, b) => a.version - b.version)
    return {
      name: this.name,
      settings: this.attempt(() => this.settings()),
      aliases: readAliases(this.files, this.folder),
      versions,
    }
  }

  private attempt<T>(read: () => T): T | WeirError {
    try {
      return read()
    } catch (error) {
      return asWeirError(error, 'STORAGE_FAILED', this.folder)
    }
  }

  private settings(): ModelSettings {
    const path = join(this.folder, DEPLOYMENT_FILE)
    if (this.files.statSync(path) === undefined) return DEFAULT_SETTINGS
    return settingsOf(parseYaml(textOf(this.files, path), path), path)
  }

  private async version(version: number): Promise<FoundVersion> {
    const folder = join(this.folder, String(version))
    const entries = await this.files.list(folder).catch(() => [])
    const names = MODEL_FILES.filter((file) => entries.some(({ name }) => name === file))
    const facts = entries.map(({ name }) => {
      const status = this.files.statSync(join(folder, name))
      return `${name} ${status?.size} ${status?.modifiedMs}`
    })
    return {
      version,
      folder,
      source: this.attempt(() => this.source(folder, names)),
      fingerprint: facts.sort().join('\n'),
    }
  }

  private source(folder: string, names: readonly string[]): ModelSource {
    const [name] = names
    if (name === undefined || names.length > 1) {
      const found = names.length === 0 ? 'none' : names.join(' and ')
      const message = `${folder} must hold one of ${MODEL_FILES.join(', ')}; it holds ${found}`
      throw new WeirError('FILE_NOT_FOUND', message)
    }
    const path = join(folder, name)
    if (name === 'model.onnx') return { kind: 'onnx', file: path }
    if (name !== 'model.json') return { kind: 'function', module: path }
    return remoteOf(parseJson(textOf(this.files, path), path), path, this.name)
  }
}

/** The aliases of a model's folder; a file that cannot be read counts as none. */
export function readAliases(files: FileSystem, folder: string): Readonly<Record<string, number>> {
  const path = join(folder, ALIASES_FILE)
  if (files.statSync(path) === undefined) return {}
  const value = parseJson(textOf(files, path), path)
  return Object.fromEntries(
    Object.entries(value).filter(
      (entry): entry is [string, number] => isModelName(entry[0]) && Number.isInteger(entry[1]),
    ),
  )
}

/** The model on another server that a file names; `path` names the file. Throws INVALID_ARGUMENT. */
export function remoteOf(
  value: Fields,
  path: string,
  name: string,
): Extract<ModelSource, { kind: 'remote' }> {
  const { url, model = name, version } = value
  const maxItems = value['max-items']
  if (typeof url !== 'string' || !URL.canParse(url) || typeof model !== 'string') {
    const message = `${path} must be {"url": "http://HOST:PORT", "model": "NAME"}; url is ${JSON.stringify(url)}`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  return {
    kind: 'remote',
    url,
    model,
    ...(version === undefined ? {} : { version: String(version) }),
    ...(typeof maxItems === 'number' ? { maxItems } : {}),
  }
}

type Fields = Readonly<Record<string, unknown>>

/** The text of a file. */
export function textOf(files: FileSystem, path: string): string {
  return new TextDecoder().decode(readFileSync(files, path))
}

/** The object of a JSON file; `path` names it in errors. Throws MALFORMED_DATA. */
export function parseJson(text: string, path: string): Fields {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new WeirError('MALFORMED_DATA', `${path}: ${messageOf(error)}`, { cause: error })
  }
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Fields
  throw new WeirError('MALFORMED_DATA', `${path} must hold a JSON object`)
}

/** The value of a YAML file. The parser is loaded only if there is a file to parse. Throws MALFORMED_DATA. */
export function parseYaml(text: string, path: string): unknown {
  const { parseDocument } = createRequire(import.meta.url)('yaml') as typeof import('yaml')
  const document = parseDocument(text, { prettyErrors: true })
  try {
    if (document.errors[0] !== undefined) throw document.errors[0]
    // It throws for an alias of nothing, and for more aliases than a file has by intent.
    return document.toJS() as unknown
  } catch (cause) {
    const message = `${path}: ${messageOf(cause).split('\n')[0]}`
    throw new WeirError('MALFORMED_DATA', message, { cause })
  }
}

/** The source of a version. Throws why it has none. */
export function sourceOf({ source }: FoundVersion): ModelSource {
  if (isWeirError(source)) throw source
  return source
}

/** A source whose workers compare the files before each load. A model on another server has none. */
export function pinnedSource(source: ModelSource, files: PinnedFiles): ModelSource {
  return source.kind === 'remote' ? source : { ...source, files }
}
