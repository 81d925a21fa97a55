import { messageOf } from '../../core/errors.ts'
import type { Deployment } from '../port/deployment.ts'
import { optionsOf, type ProviderOptions } from '../port/device.ts'
import type { Fields, SettingReader } from './setting-reader.ts'

type DeviceSettings = {
  [Key in 'devices' | 'fallback' | 'threads' | 'providerOptions']: Deployment[Key] | undefined
}

/** Reads where the workers of a model run: `device`, `fallback`, `threads`, `provider-options`. Throws INVALID_ARGUMENT, UNKNOWN_OPTION. */
export function readDevice(reader: SettingReader, fields: Fields): DeviceSettings {
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
