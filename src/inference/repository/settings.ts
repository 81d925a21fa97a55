import { WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import { type JsonTensor, rawOfJson } from '../../wire/inference/json-tensor.ts'
import { isDatatype } from '../../wire/inference/tensor.ts'
import type { BatchingSettings, Deployment } from '../port/deployment.ts'
import type { ItemAxes } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { ImageTransform, LabelsTransform, Transforms } from '../port/transforms.ts'
import type { SequenceSettings } from '../sequences/settings.ts'
import { readSequence } from './sequence-settings.ts'
import { SETTING_KEYS } from './setting-keys.ts'
import { readYaml, type YamlFile } from './yaml-file.ts'

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

type Fields = Readonly<Record<string, unknown>>

const IMAGE_KEYS = ['size', 'fit', 'layout', 'channels', 'scale', 'mean', 'std']

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

class SettingsReader {
  private readonly path: string
  private readonly lineOf: YamlFile['lineOf']

  constructor(path: string, lineOf: YamlFile['lineOf']) {
    this.path = path
    this.lineOf = lineOf
  }

  /** Place of a key in errors. */
  private place(key: string): string {
    const line = this.lineOf(key)
    return line === undefined ? this.path : `${this.path}:${line}`
  }

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
        fields['transforms'] === undefined ? undefined : this.transforms(fields['transforms']),
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

  private transforms(value: unknown): Transforms {
    const fields = this.map(value, 'transforms')
    this.requireKeys(fields, ['inputs', 'outputs'], 'transforms.')
    return {
      images: this.each(fields, 'inputs', 'image', (of, key) => this.image(of, key)),
      labels: this.each(fields, 'outputs', 'labels', (of, key) => this.labels(of, key)),
    }
  }

  /** The transform of each tensor of a side. */
  private each<T>(
    fields: Fields,
    side: 'inputs' | 'outputs',
    kind: 'image' | 'labels',
    read: (value: unknown, key: string) => T,
  ): Readonly<Record<string, T>> {
    const of = this.map(fields[side] ?? {}, `transforms.${side}`)
    const entries = Object.entries(of).map(([name, value]) => {
      const key = `transforms.${side}.${name}`
      const transform = this.map(value, key)
      this.requireKeys(transform, [kind], `${key}.`)
      return [name, read(transform[kind], `${key}.${kind}`)] as const
    })
    return Object.fromEntries(entries)
  }

  private image(value: unknown, key: string): ImageTransform {
    const fields = value === null ? {} : this.map(value, key)
    this.requireKeys(fields, IMAGE_KEYS, `${key}.`)
    const one = <T extends string>(name: string, known: readonly T[]): T | undefined => {
      const found = known.find((word) => word === fields[name])
      if (found !== undefined || fields[name] === undefined) return found
      throw this.wrong(`${key}.${name}`, known.join(' or '), fields[name])
    }
    const numbers = (name: string, count: number): readonly number[] | undefined => {
      const list = typeof fields[name] === 'number' ? Array(count).fill(fields[name]) : fields[name]
      if (list === undefined) return undefined
      const isRight = Array.isArray(list) && list.length === count && list.every(Number.isFinite)
      if (isRight) return list as readonly number[]
      throw this.wrong(`${key}.${name}`, `a number, or ${count} numbers`, fields[name])
    }
    const size = numbers('size', 2)
    if (size?.some((pixels) => !(Number.isInteger(pixels) && pixels > 0)) === true)
      throw this.wrong(`${key}.size`, 'pixels, or [width, height]', fields['size'])
    const scale = this.number(fields, 'scale', { least: 0 })
    const transform = {
      size: size as ImageTransform['size'],
      fit: one('fit', ['cover', 'contain', 'fill'] as const),
      layout: one('layout', ['nchw', 'nhwc'] as const),
      channels: one('channels', ['rgb', 'bgr'] as const),
      scale,
      mean: numbers('mean', 3),
      std: numbers('std', 3),
    }
    return defined<ImageTransform>(transform)
  }

  private labels(value: unknown, key: string): LabelsTransform {
    const fields = typeof value === 'string' ? { file: value } : this.map(value, key)
    this.requireKeys(fields, ['file', 'top', 'softmax'], `${key}.`)
    const file = fields['file']
    if (typeof file !== 'string' || !/^[^/\\.][^/\\]*(\/[^/\\.][^/\\]*)*$/.test(file)) {
      throw this.wrong(`${key}.file`, 'a file of the version, such as labels.txt', file)
    }
    const top = this.whole(fields, 'top')
    return defined<LabelsTransform>({ file, top, softmax: this.boolean(fields, 'softmax') })
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

  private bytes(fields: Fields, key: string): number | undefined {
    const value = fields[key]
    if (value === undefined || value === 'off' || value === false) return undefined
    if (Number.isInteger(value) && (value as number) >= 0) return value as number
    const [, number, unit] =
      typeof value === 'string' ? (/^(\d+) ?(KiB|MiB|GiB)$/.exec(value) ?? []) : []
    if (number === undefined) throw this.wrong(key, 'off, or bytes such as 64 MiB', value)
    return Number(number) * 1024 ** (['KiB', 'MiB', 'GiB'].indexOf(unit!) + 1)
  }

  private whole(fields: Fields, key: string): number | undefined {
    const value = this.number(fields, key, { least: 1 })
    if (value === undefined || Number.isInteger(value)) return value
    throw this.wrong(key, 'a whole number from 1', value)
  }

  private number(
    fields: Fields,
    key: string,
    { least }: { readonly least: number },
  ): number | undefined {
    const value = fields[key]
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isFinite(value) && value >= least) return value
    throw this.wrong(key, `a number from ${least}`, value)
  }

  private boolean(fields: Fields, key: string): boolean | undefined {
    const value = fields[key]
    if (value === undefined || typeof value === 'boolean') return value
    throw this.wrong(key, 'true or false', value)
  }

  private text(fields: Fields, key: string): string | undefined {
    const value = fields[key]
    if (value === undefined || (typeof value === 'string' && value !== '')) return value
    throw this.wrong(key, 'a text', value)
  }

  private map(value: unknown, what: string): Fields {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Fields
    throw this.wrong(what, '"key: value" lines', value)
  }

  private requireKeys(fields: Fields, known: readonly string[], prefix: string): void {
    for (const key of Object.keys(fields)) {
      if (known.includes(key)) continue
      const nearest = nearestWord(key, known)
      const hint =
        nearest === undefined
          ? `known are ${known.join(', ')}`
          : `did you mean ${prefix}${nearest}?`
      const place = this.place(`${prefix}${key}`)
      throw new WeirError('UNKNOWN_OPTION', `${place}: ${prefix}${key} is unknown; ${hint}`)
    }
  }

  private wrong(key: string, wanted: string, value: unknown): WeirError {
    const shown = JSON.stringify(value)?.slice(0, 60)
    const message = `${this.place(key)}: ${key} takes ${wanted}, not ${shown}`
    return new WeirError('INVALID_ARGUMENT', message)
  }
}

/** The object without its undefined fields. */
function defined<T>(fields: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as unknown as T
}
