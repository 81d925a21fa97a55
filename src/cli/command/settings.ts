import { nearestWord } from '../../core/text/nearest-word.ts'
import { configurationKeys } from '../../runtime/configuration/keys.ts'
import { CONFIGURATION_FILE, readConfigurationFile } from './configuration-file.ts'
import { UsageError } from './usage-error.ts'

/** Settings of the environment and the configuration file; flags of the command line override them. */
export interface Settings {
  /** Values by name of the flag, without dashes. */
  readonly flags: Readonly<Record<string, string>>
  /** Values by configuration key. */
  readonly configuration: Readonly<Record<string, string>>
  /** What gave each flag and each key, as messages name it: `WEIR_PORT`, `port in weir.yaml`. */
  readonly sources: Readonly<Record<string, string>>
}

/** Empty settings. */
export const NO_SETTINGS: Settings = { flags: {}, configuration: {}, sources: {} }

/** Flags that can also be set: `--data-dir` by `WEIR_DATA_DIR` or by `data-dir:` in the file. */
export const SETTABLE_FLAGS = [
  'data-dir',
  'max-key-bytes',
  'host',
  'port',
  'jobmanager',
  'jobmanager-tls',
  'jobmanager-tls-ca',
  'jobmanager-tls-cert',
  'jobmanager-tls-key',
  'token',
  'token-file',
  'tokens',
  'server-tls-cert',
  'server-tls-key',
  'server-tls-ca',
  'insecure-listener',
  'people',
  'audit-file',
  'strict-secrets',
  'query-tls',
  'query-tls-ca',
  'query-tls-cert',
  'query-tls-key',
  'slots',
  'query-threads',
  'log-format',
  'state',
  'timeout',
  'brokers',
  'sasl-mechanism',
  'sasl-username',
  'sasl-password',
  'sasl-password-file',
  'tls',
  'tls-ca',
  'tls-cert',
  'tls-key',
] as const

const PREFIX = 'WEIR_'

/** Variables of the command line itself, which are no keys of the file. */
const RESERVED = ['WEIR_CONFIG', 'WEIR_DEBUG', 'WEIR_JOB_ID']

/** Configuration key for `--slots`; in the file it must not override the flag. */
const PARALLELISM = 'parallelism.default'

/** The environment variable of a flag or of a configuration key. */
export function environmentName(key: string): string {
  return `${PREFIX}${key.toUpperCase().replaceAll(/[.-]/g, '_')}`
}

/**
 * Reads `WEIR_*` and the configuration file; the environment overrides the file. The file is
 * `--config`, else `WEIR_CONFIG`, else `weir.yaml` in the working directory if it exists. Throws
 * UsageError for an unknown key, with the most similar one.
 */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
  configFlag?: string,
): Settings {
  const path = configFlag ?? env['WEIR_CONFIG']
  const file = readConfigurationFile(path ?? CONFIGURATION_FILE, path !== undefined)
  const place = path ?? CONFIGURATION_FILE
  const inFile = [...(file ?? [])].map(
    ([key, value]) => [key, { value, source: `${key} in ${place}` }] as const,
  )
  const inEnvironment = [...fromEnvironment(env)].map(
    ([key, value]) => [key, { value, source: environmentName(key) }] as const,
  )
  const merged = new Map([...inFile, ...inEnvironment])
  const known = knownKeys()
  for (const key of file?.keys() ?? []) {
    if (known.includes(key)) continue
    const hint = didYouMean(nearestWord(key, known))
    throw new UsageError(`${place}: unknown configuration key "${key}"${hint}`)
  }
  return split(merged)
}

function knownKeys(): readonly string[] {
  return [...SETTABLE_FLAGS, ...configurationKeys().map(({ key }) => key)]
}

/**
 * The `WEIR_*` variables by key. An unknown variable that is similar to a known one is a typing
 * mistake. Other unknown variables are ignored: Kubernetes sets `WEIR_SERVICE_HOST` and
 * `WEIR_PORT=tcp://...` in every container if a service is named weir.
 */
function fromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): ReadonlyMap<string, string> {
  const byName = new Map(knownKeys().map((key) => [environmentName(key), key]))
  const words = [...byName.keys(), ...RESERVED].map((name) => name.slice(PREFIX.length))
  const values = new Map<string, string>()
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || RESERVED.includes(name)) continue
    if (name === 'WEIR_TOKEN' && value === '') {
      throw new UsageError(
        'WEIR_TOKEN is empty, which would let everyone in; set a token or unset it',
      )
    }
    if (value === undefined || value === '' || value.startsWith('tcp://')) continue
    const key = byName.get(name)
    if (key !== undefined) values.set(key, value)
    else {
      const nearest = nearestWord(name.slice(PREFIX.length), words)
      if (nearest === undefined) continue
      throw new UsageError(
        `unknown environment variable ${name}${didYouMean(`${PREFIX}${nearest}`)}`,
      )
    }
  }
  return values
}

interface SourcedValue {
  readonly value: string
  readonly source: string
}

function split(values: ReadonlyMap<string, SourcedValue>): Settings {
  const flags: Record<string, string> = {}
  const configuration: Record<string, string> = {}
  const sources: Record<string, string> = {}
  const settable: readonly string[] = SETTABLE_FLAGS
  for (const [key, { value, source }] of values) {
    const name = key === PARALLELISM ? 'slots' : key
    if (name !== key && flags[name] !== undefined) continue
    if (settable.includes(name)) flags[name] = value
    else configuration[name] = value
    sources[name] = source
  }
  return { flags, configuration, sources }
}

function didYouMean(nearest: string | undefined): string {
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`
}
