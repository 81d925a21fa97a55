import { nearestWord } from '../core/nearest-word.ts'
import { configurationKeys } from '../runtime/configuration.ts'
import { CONFIGURATION_FILE, readConfigurationFile } from './configuration-file.ts'
import { UsageError } from './usage-error.ts'

/** What the environment and the configuration file say; flags of the command line override it. */
export interface Settings {
  /** By name of the flag, without dashes. */
  readonly flags: Readonly<Record<string, string>>
  /** By Flink's key. */
  readonly configuration: Readonly<Record<string, string>>
}

/** Nothing said. */
export const NO_SETTINGS: Settings = { flags: {}, configuration: {} }

/** Flags that need not be typed each time: `--data-dir` is also `WEIR_DATA_DIR` and `data-dir:`. */
export const SETTABLE_FLAGS = [
  'data-dir',
  'host',
  'port',
  'token',
  'slots',
  'query-threads',
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

/** Read by the command line itself, under no key of the file. */
const RESERVED = ['WEIR_CONFIG', 'WEIR_DEBUG']

/** Flink's key for what `--slots` says: it must not outrank a flag when it stands in the file. */
const PARALLELISM = 'parallelism.default'

/** The environment variable of a flag or of a Flink key. */
export function environmentName(key: string): string {
  return `${PREFIX}${key.toUpperCase().replaceAll(/[.-]/g, '_')}`
}

/**
 * Reads `WEIR_*` and the configuration file: the environment outranks the file. The file is
 * `--config`, else `WEIR_CONFIG`, else `weir.yaml` in the working directory if there is one. Throws
 * UsageError for an unknown key, naming the nearest one.
 */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
  configFlag?: string,
): Settings {
  const path = configFlag ?? env['WEIR_CONFIG']
  const file = readConfigurationFile(path ?? CONFIGURATION_FILE, path !== undefined)
  const merged = new Map([...(file ?? []), ...fromEnvironment(env)])
  const known = knownKeys()
  for (const key of file?.keys() ?? []) {
    if (known.includes(key)) continue
    const hint = didYouMean(nearestWord(key, known))
    throw new UsageError(
      `${path ?? CONFIGURATION_FILE}: the configuration key "${key}" is not known${hint}`,
    )
  }
  return split(merged)
}

function knownKeys(): readonly string[] {
  return [...SETTABLE_FLAGS, ...configurationKeys().map(({ key }) => key)]
}

/**
 * A variable that is nearly a known one is a typing mistake; one that is far from all belongs to
 * somebody else (Kubernetes gives every container `WEIR_SERVICE_HOST` and `WEIR_PORT=tcp://...` where
 * a service is called weir).
 */
function fromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): ReadonlyMap<string, string> {
  const byName = new Map(knownKeys().map((key) => [environmentName(key), key]))
  const words = [...byName.keys(), ...RESERVED].map((name) => name.slice(PREFIX.length))
  const values = new Map<string, string>()
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || RESERVED.includes(name)) continue
    if (value === undefined || value === '' || value.startsWith('tcp://')) continue
    const key = byName.get(name)
    if (key !== undefined) values.set(key, value)
    else {
      const nearest = nearestWord(name.slice(PREFIX.length), words)
      if (nearest === undefined) continue
      throw new UsageError(
        `the environment variable ${name} is not known${didYouMean(`${PREFIX}${nearest}`)}`,
      )
    }
  }
  return values
}

function split(values: ReadonlyMap<string, string>): Settings {
  const flags: Record<string, string> = {}
  const configuration: Record<string, string> = {}
  const settable: readonly string[] = SETTABLE_FLAGS
  for (const [key, value] of values) {
    if (settable.includes(key)) flags[key] = value
    else if (key === PARALLELISM) flags['slots'] ??= value
    else configuration[key] = value
  }
  return { flags, configuration }
}

function didYouMean(nearest: string | undefined): string {
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`
}
