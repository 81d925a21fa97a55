import { join } from 'node:path'
import { asWeirError, isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import { readFileSync } from '../../files/durable-files.ts'
import type { FileSystem } from '../../files/file-system.ts'
import type { ModelSource, PinnedFiles } from '../port/model.ts'
import { isModelName, versionOf } from './name.ts'
import { DEFAULT_SETTINGS, type ModelSettings, readSettingsText } from './settings.ts'
import { readYaml } from './yaml-file.ts'

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
  'pipeline.yaml',
  'pipeline.json',
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
  /** Its aliases, or why they cannot be read. */
  readonly aliases: Readonly<Record<string, number>> | WeirError
  /** By number, ascending. */
  readonly versions: readonly FoundVersion[]
  /** What its files name and the folder does not have. */
  readonly problems: readonly WeirError[]
}

/** Folders of the repository that are no models, with the reason; and the models, by name. */
export interface Scan {
  readonly models: readonly FoundModel[]
  readonly problems: readonly WeirError[]
}

/**
 * Reads what a repository holds: `NAME/VERSION/model.onnx` (or `.ts`, `.js`, `.mjs`, `.json`, or `pipeline.yaml`),
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
    const settings = this.attempt(() => this.settings())
    const aliases = this.attempt(() => readAliases(this.files, this.folder))
    const problems = this.lost({ settings, aliases, versions })
    return { name: this.name, settings, aliases, versions, problems }
  }

  /** Versions and aliases that are named and not there. */
  private lost({
    settings,
    aliases,
    versions,
  }: Pick<FoundModel, 'settings' | 'aliases' | 'versions'>): WeirError[] {
    const problems: WeirError[] = []
    const known = versions.map(({ version }) => version)
    const targets = isWeirError(aliases) ? {} : aliases
    for (const [alias, version] of Object.entries(targets)) {
      if (known.includes(version)) continue
      const what = `the alias "${alias}" names version ${version}, which is not there; the versions are ${known.join(', ') || 'none'}`
      problems.push(this.problemAt(ALIASES_FILE, alias, what))
    }
    const wanted = isWeirError(settings) ? 'latest' : settings.version
    if (typeof wanted === 'number' && !known.includes(wanted)) {
      const what = `version ${wanted} is not there; the versions are ${known.join(', ') || 'none'}`
      problems.push(this.problemAt(DEPLOYMENT_FILE, 'version', what))
    }
    if (typeof wanted === 'object' && !isWeirError(aliases) && !(wanted.alias in targets)) {
      const names = Object.keys(targets)
      const nearest = nearestWord(wanted.alias, names)
      const hint =
        nearest === undefined
          ? `the aliases are ${names.join(', ') || 'none'}`
          : `did you mean @${nearest}?`
      const what = `version: the model has no alias "${wanted.alias}"; ${hint}`
      problems.push(this.problemAt(DEPLOYMENT_FILE, 'version', what))
    }
    return problems
  }

  private problemAt(file: string, key: string, what: string): WeirError {
    const path = join(this.folder, file)
    // The file may have changed, or gone, since it was read.
    const line = this.attempt(() => readYaml(textOf(this.files, path), path).lineOf(key))
    const place = typeof line === 'number' ? `${path}:${line}` : path
    return new WeirError('UNKNOWN_VERSION', `${place}: ${what}`)
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
    const text = textOf(this.files, path)
    // An editor that writes a file in its place empties it first.
    if (text === '') {
      const message = `${path} is empty, and may be half written; for the defaults remove it, or write {} into it`
      throw new WeirError('MALFORMED_DATA', message)
    }
    return readSettingsText(text, path)
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
    if (name.startsWith('pipeline.')) return { kind: 'pipeline', file: path }
    if (name !== 'model.json') return { kind: 'function', module: path }
    return remoteOf(parseJson(textOf(this.files, path), path), path, this.name)
  }
}

/** The aliases of a model's folder. Throws MALFORMED_DATA, with the line. */
export function readAliases(files: FileSystem, folder: string): Readonly<Record<string, number>> {
  const path = join(folder, ALIASES_FILE)
  if (files.statSync(path) === undefined) return {}
  const { value, lineOf } = readYaml(textOf(files, path), path)
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new WeirError('MALFORMED_DATA', `${path} must hold {"ALIAS": VERSION}`)
  }
  for (const [alias, version] of Object.entries(value)) {
    if (isModelName(alias) && Number.isInteger(version) && version > 0) continue
    const shown = `"${alias.slice(0, 40)}": ${JSON.stringify(version)?.slice(0, 40)}`
    const message = `${path}:${lineOf(alias)}: ${shown} is no alias; write "NAME": VERSION, such as "stable": 3`
    throw new WeirError('MALFORMED_DATA', message)
  }
  return value as Readonly<Record<string, number>>
}

/** The model on another server that a file names; `path` names the file. Throws INVALID_ARGUMENT. */
export function remoteOf(
  value: Fields,
  path: string,
  name: string,
): Extract<ModelSource, { kind: 'remote' }> {
  const { url, model = name, version, protocol } = value
  const maxItems = value['max-items']
  if (typeof url !== 'string' || !URL.canParse(url) || typeof model !== 'string') {
    const message = `${path} must be {"url": "http://HOST:PORT", "model": "NAME"}; url is ${JSON.stringify(url)}`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  if (protocol !== undefined && protocol !== 'oip' && protocol !== 'openai') {
    const message = `${path}: protocol takes oip or openai, not ${JSON.stringify(protocol).slice(0, 40)}`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  if (protocol === 'openai' && (maxItems ?? version) !== undefined) {
    const message = `${path}: a model of protocol openai has neither version nor max-items; leave them out`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  return {
    kind: 'remote',
    url,
    model,
    ...(protocol === undefined ? {} : { protocol }),
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

/** The source of a version. Throws why it has none. */
export function sourceOf({ source }: FoundVersion): ModelSource {
  if (isWeirError(source)) throw source
  return source
}

/** A source whose workers compare the files before each load. A model on another server has none. */
export function pinnedSource(source: ModelSource, files: PinnedFiles): ModelSource {
  return source.kind === 'remote' ? source : { ...source, files }
}
