import { messageOf, WeirError } from '../../core/errors.ts'
import { type JsonTensor, rawOfJson } from '../../wire/inference/json-tensor.ts'
import { isDatatype } from '../../wire/inference/tensor.ts'
import type { BatchingSettings, Deployment } from '../port/deployment.ts'
import { optionsOf, type ProviderOptions } from '../port/device.ts'
import type { ItemAxes } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { SequenceSettings } from '../sequences/settings.ts'
import { readSequence } from './sequence-settings.ts'
import { SETTING_KEYS } from './setting-keys.ts'
import { defined, type Fields, SettingReader } from './setting-reader.ts'
import { readTransforms } from './transform-settings.ts'
import { readYaml } from './yaml-file.ts'

/** Settings of `deployment.yaml`: the engine's, and those of the process around it. */
export interface ModelSettings {
  readonly deployment: Deployment
  /** Version that answers requests that name none: the newest, a number, or an alias. */
  readonly version: 'latest' | number | { readonly alias: string }
  /** Bytes of the prediction cache; 0 for none. */
  readonly cacheBytes: number
  /** Most cached requests that a new version answers before it goes live; 0 for none. */
  readonly cacheWarmUp: number
  readonly checks: CheckSettings
  /** What the model carries from one request of a client to the next. @default nothing */
  readonly sequence?: SequenceSettings
}

/** Checks of a version before it goes live. */
export interface CheckSettings {
  /** `same`: clients of the live version must work with the next one. @default 'same' */
  readonly signature: 'same' | 'any'
  /** Longest 99th percentile of a golden run in ms; undefined for any. */
  readonly maxP99Ms: number | undefined
  /** Most memory of the model in one worker, bytes; undefined for any. */
  readonly maxMemoryBytes: number | undefined
}

/** Latency goal of a model without settings, in ms. */
const DEFAULT_SLO_MS = 1000

/** Settings of a model without `deployment.yaml`. */
export const DEFAULT_SETTINGS: ModelSettings = {
  deployment: { sloMs: DEFAULT_SLO_MS },
  version: 'latest',
  cacheBytes: 0,
  cacheWarmUp: 0,
  checks: { signature: 'same', maxP99Ms: undefined, maxMemoryBytes: undefined },
}

const RULES = ['slack', 'aimd', 'quantile', 'greedy', 'threshold', 'window', 'none'] as const

/** Parameters of each batching rule, by their key in the file. */
const RULE_KEYS: Readonly<Record<(typeof RULES)[number], Readonly<Record<string, string>>>> = {
  slack: { 'delay-ms': 'delayMs' },
  aimd: { increase: 'increase', decrease: 'decrease', 'delay-ms': 'delayMs' },
  quantile: { quantile: 'quantile', 'delay-ms': 'delayMs' },
  greedy: { sizes: 'sizes' },
  threshold: { 'quantum-ms': 'quantumMs', cap: 'cap' },
  window: { 'delay-ms': 'delayMs' },
  none: {},
}

/**
 * Reads the settings of a model from the text of its `deployment.yaml`. `path` names the file in errors, which have the
 * line, too. Throws MALFORMED_DATA, INVALID_ARGUMENT, UNKNOWN_OPTION.
 */
export function readSettingsText(text: string, path: string): ModelSettings {
  const { value, lineOf } = readYaml(text, path)
  return new SettingsReader(path, lineOf).settings(value)
}

class SettingsReader extends SettingReader {
  settings(value: unknown): ModelSettings {
    if (value === null || value === undefined) return DEFAULT_SETTINGS
    const fields = this.map(value, 'the file')
    this.requireKeys(fields, Object.keys(SETTING_KEYS), '')
    const sequence = this.sequence(fields)
    return {
      ...(sequence === undefined ? {} : { sequence }),
      deployment: this.deployment(fields),
      version: this.version(fields['version']),
      cacheBytes: this.bytes(fields, 'cache') ?? 0,
      cacheWarmUp: this.whole(fields, 'cache-warm-up') ?? 0,
      checks:
        fields['checks'] === undefined ? DEFAULT_SETTINGS.checks : this.checks(fields['checks']),
    }
  }

  private sequence(fields: Fields): SequenceSettings | undefined {
    if (fields['sequence'] === undefined) return undefined
    const of = this.map(fields['sequence'], 'sequence')
    this.requireKeys(of, ['state', 'ttl-ms', 'most'], 'sequence.')
    const state = this.map(of['state'], 'sequence.state')
    const given = {
      state,
      ttlMs: this.number(of, 'ttl-ms', { least: 1 }),
      most: this.whole(of, 'most'),
    }
    const read = readSequence(given, fields)
    if ('settings' in read) return read.settings
    throw this.wrong(read.key, read.takes, read.value)
  }

  private deployment(fields: Fields): Deployment {
    const isolation = this.text(fields, 'isolation')
    if (isolation !== undefined && isolation !== 'thread' && isolation !== 'process') {
      throw this.wrong('isolation', 'thread or process', isolation)
    }
    return defined<Deployment>({
      sloMs: this.number(fields, 'slo-ms', { least: 1 }) ?? DEFAULT_SLO_MS,
      batching: fields['batching'] === undefined ? undefined : this.batching(fields['batching']),
      ...(fields['workers'] === 'shared'
        ? { isShared: true }
        : { workers: this.whole(fields, 'workers') }),
      ...readDevice(this, fields),
      isolation,
      batches: this.boolean(fields, 'batches'),
      itemAxes: fields['item-axes'] === undefined ? undefined : this.itemAxes(fields['item-axes']),
      maxBatchItems: this.whole(fields, 'max-batch'),
      queueCapacity: this.whole(fields, 'queue-capacity'),
      streams: this.whole(fields, 'streams'),
      inputBytes: this.bytes(fields, 'input-bytes'),
      outputBytes: this.bytes(fields, 'output-bytes'),
      memoryBytes: this.bytes(fields, 'memory'),
      memoryLimitBytes: this.limit(fields, isolation),
      isKeptLoaded: this.boolean(fields, 'keep-loaded'),
      warmUp: this.warmUp(fields),
      transforms:
        fields['transforms'] === undefined ? undefined : readTransforms(this, fields['transforms']),
      maxAttempts: this.whole(fields, 'max-attempts'),
      overtimeMs: this.number(fields, 'overtime-ms', { least: 1 }),
      overtimeFactor: this.number(fields, 'overtime-factor', { least: 1 }),
      recycleAfterRuns: this.whole(fields, 'recycle-after'),
      hedge: this.hedge(fields['hedge']),
      default: fields['default'] === undefined ? undefined : this.defaults(fields['default']),
    })
  }

  private itemAxes(value: unknown): ItemAxes {
    const axes = Object.entries(this.map(value, 'item-axes')).map(([name, axis]) => {
      const isAxis = axis === null || (Number.isInteger(axis) && (axis as number) >= 0)
      if (!isAxis) throw this.wrong(`item-axes.${name}`, 'an axis from 0, or null', axis)
      return [name, axis as number | null] as const
    })
    return Object.fromEntries(axes)
  }

  private warmUp(fields: Fields): Deployment['warmUp'] {
    const runs = this.whole(fields, 'warm-up')
    return runs === undefined ? undefined : { runs }
  }

  private limit(fields: Fields, isolation: string | undefined): number | undefined {
    const bytes = this.bytes(fields, 'memory-limit')
    if (bytes === undefined || isolation === 'process') return bytes
    throw new WeirError(
      'INVALID_ARGUMENT',
      `${this.place('memory-limit')}: memory-limit needs isolation: process; threads share the memory of their process`,
    )
  }

  private batching(value: unknown): BatchingSettings {
    const fields = typeof value === 'string' ? { rule: value } : this.map(value, 'batching')
    const rule = RULES.find((known) => known === fields['rule'])
    if (rule === undefined)
      throw this.wrong('batching', `one of ${RULES.join(', ')}`, fields['rule'])
    const keys = RULE_KEYS[rule]
    this.requireKeys(fields, ['rule', ...Object.keys(keys)], 'batching.')
    const parameters = Object.entries(keys).flatMap(([key, name]) =>
      fields[key] === undefined ? [] : [[name, this.parameter(fields, key)]],
    )
    return { rule, ...Object.fromEntries(parameters) } as BatchingSettings
  }

  private parameter(fields: Fields, key: string): number | readonly number[] {
    if (key !== 'sizes') return this.number(fields, key, { least: 0 })!
    const value = fields[key]
    if (Array.isArray(value) && value.length > 0 && value.every(Number.isInteger)) return value
    throw this.wrong('batching.sizes', 'a list of whole numbers', value)
  }

  private hedge(value: unknown): Deployment['hedge'] {
    if (value === undefined) return undefined
    const fields = this.map(value, 'hedge')
    this.requireKeys(fields, ['after-ms', 'quantile'], 'hedge.')
    const afterMs = this.number(fields, 'after-ms', { least: 0 })
    const quantile = this.number(fields, 'quantile', { least: 0 })
    if (afterMs !== undefined && quantile === undefined) return { afterMs }
    if (quantile !== undefined && afterMs === undefined && quantile < 1) return { quantile }
    throw this.wrong('hedge', 'after-ms, or a quantile below 1', JSON.stringify(value))
  }

  private defaults(value: unknown): Tensor[] {
    return Object.entries(this.map(value, 'default')).map(([name, tensor]) => {
      const fields = this.map(tensor, `default.${name}`)
      this.requireKeys(fields, ['datatype', 'shape', 'data'], `default.${name}.`)
      const { datatype, shape, data } = fields
      if (!isDatatype(datatype))
        throw this.wrong(`default.${name}.datatype`, 'a datatype', datatype)
      if (!Array.isArray(shape)) throw this.wrong(`default.${name}.shape`, 'a list of sizes', shape)
      if (!Array.isArray(data)) throw this.wrong(`default.${name}.data`, 'a list of values', data)
      return rawOfJson({ name, datatype, shape, data } satisfies JsonTensor)
    })
  }

  private checks(value: unknown): CheckSettings {
    const fields = this.map(value, 'checks')
    this.requireKeys(fields, ['signature', 'max-p99-ms', 'max-memory'], 'checks.')
    const { signature = 'same' } = fields
    if (signature !== 'same' && signature !== 'any') {
      throw this.wrong('checks.signature', 'same or any', signature)
    }
    return {
      signature,
      maxP99Ms: this.number(fields, 'max-p99-ms', { least: 0 }),
      maxMemoryBytes: this.bytes(fields, 'max-memory'),
    }
  }

  private version(value: unknown): ModelSettings['version'] {
    if (value === undefined || value === 'latest') return 'latest'
    if (Number.isInteger(value) && (value as number) > 0) return value as number
    if (typeof value === 'string' && /^@./.test(value)) return { alias: value.slice(1) }
    throw this.wrong('version', 'latest, a whole number from 1, or an alias such as @stable', value)
  }
}

type DeviceSettings = {
  [Key in 'devices' | 'fallback' | 'threads' | 'providerOptions']: Deployment[Key] | undefined
}

/** Reads where the workers of a model run: `device`, `fallback`, `threads`, `provider-options`. Throws INVALID_ARGUMENT, UNKNOWN_OPTION. */
function readDevice(reader: SettingReader, fields: Fields): DeviceSettings {
  const devices = devicesOf(reader, fields['device'])
  const fallback = reader.text(fields, 'fallback')
  if (fallback !== undefined && (fallback !== 'cpu' || devices === undefined)) {
    throw reader.wrong('fallback', 'cpu, beside a device', fallback)
  }
  return {
    devices,
    fallback,
    threads: reader.whole(fields, 'threads'),
    providerOptions: providerOptionsOf(reader, fields['provider-options'], devices),
  }
}

function devicesOf(reader: SettingReader, value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined
  const names = Array.isArray(value) ? value : [value]
  const isList = names.length > 0 && names.every((name) => typeof name === 'string')
  if (!isList) throw reader.wrong('device', 'a device such as cuda:0, or a list of them', value)
  for (const name of names) {
    try {
      optionsOf(name)
    } catch (error) {
      throw reader.wrong('device', `a device (${messageOf(error)})`, value)
    }
  }
  return names
}

function providerOptionsOf(
  reader: SettingReader,
  value: unknown,
  devices: readonly string[] | undefined,
): ProviderOptions | undefined {
  if (value === undefined) return undefined
  const options = reader.map(value, 'provider-options')
  const [device = 'cpu', ...others] = devices ?? []
  const known = optionsOf(device)
  if (known.length === 0 || others.some((other) => other !== device)) {
    const wanted = `nothing with device ${devices?.join(', ') ?? 'cpu'}: the binding of ONNX Runtime passes on options of coreml and of webgpu only`
    throw reader.wrong('provider-options', wanted, value)
  }
  reader.requireKeys(options, known, 'provider-options.')
  return options as ProviderOptions
}
