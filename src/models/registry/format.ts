import { WeirError } from '../../core/errors.ts'
import type { RegisteredModel, RegisteredVersion, RegistryState } from './version.ts'

/**
 * Records of the registry topic (compacted). Key `model/<name>` or `version/<name>/<number>`, value
 * JSON `{"format":1, ...}` of `RegisteredModel` or `RegisteredVersion`. Every record is the whole
 * current value: the registry is the last record of each key; one without a value deletes a version. Records of one command are one transaction.
 */
export interface RegistryRecord {
  readonly key: string
  readonly value: Uint8Array | null
}

const FORMAT = 1
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The record of a model. */
export function modelRecord(model: RegisteredModel): RegistryRecord {
  return { key: `model/${model.name}`, value: encoded(model) }
}

/** The record of a version. */
export function versionRecord(version: RegisteredVersion): RegistryRecord {
  return { key: versionKey(version.name, version.number), value: encoded(version) }
}

/** The record that deletes a version. */
export function deletedVersionRecord({ name, number }: RegisteredVersion): RegistryRecord {
  return { key: versionKey(name, number), value: null }
}

const versionKey = (name: string, number: number): string => `version/${name}/${number}`

function encoded(value: object): Uint8Array {
  return encoder.encode(JSON.stringify({ format: FORMAT, ...value }))
}

/** Folds records, oldest first. Throws UNPARSABLE_RECORD, UNSUPPORTED_VERSION. */
export function foldRegistry(records: Iterable<RegistryRecord>): RegistryState {
  const models = new Map<string, RegisteredModel>()
  const versions = new Map<string, Map<number, RegisteredVersion>>()
  for (const { key, value } of records) {
    if (value === null) {
      const [, name, number] = /^version\/(.*)\/(\d+)$/.exec(key) ?? []
      versions.get(name ?? '')?.delete(Number(number))
      continue
    }
    const parsed = parse(key, value)
    if (key.startsWith('model/')) {
      models.set(key.slice('model/'.length), parsed as unknown as RegisteredModel)
      continue
    }
    const version = parsed as unknown as RegisteredVersion
    const ofModel = versions.get(version.name) ?? new Map<number, RegisteredVersion>()
    ofModel.set(version.number, version)
    versions.set(version.name, ofModel)
  }
  return { models, versions }
}

function parse(key: string, value: Uint8Array): Record<string, unknown> {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(decoder.decode(value)) as Record<string, unknown>
  } catch (cause) {
    throw new WeirError('UNPARSABLE_RECORD', `the registry record ${key} is not JSON`, { cause })
  }
  const { format, ...rest } = fields
  if (format !== FORMAT) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `the registry record ${key} has format ${String(format)}; this build reads ${FORMAT}`,
    )
  }
  const isVersion = key.startsWith('version/')
  const isWhole = isVersion
    ? typeof rest['name'] === 'string' && typeof rest['number'] === 'number'
    : key.startsWith('model/') && typeof rest['live'] === 'number'
  if (isWhole) return rest
  throw new WeirError('UNPARSABLE_RECORD', `the registry record ${key} lacks fields`)
}
