import { requireArgument } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'

const CACHE_MODES = [
  'storageBufferCacheMode',
  'uniformBufferCacheMode',
  'queryResolveBufferCacheMode',
  'defaultBufferCacheMode',
]

/**
 * Execution providers of ONNX Runtime, and the options that its binding for Node.js passes on to each (onnxruntime-node 1.30):
 * it ignores others without a word.
 */
const PROVIDERS: Readonly<
  Record<string, { readonly isNumbered: boolean; readonly options: readonly string[] }>
> = {
  cpu: { isNumbered: false, options: [] },
  cuda: { isNumbered: true, options: [] },
  tensorrt: { isNumbered: true, options: [] },
  dml: { isNumbered: true, options: [] },
  coreml: { isNumbered: false, options: ['coreMlFlags'] },
  webgpu: {
    isNumbered: false,
    options: [
      'preferredLayout',
      'forceCpuNodeNames',
      'validationMode',
      'enableRobustness',
      ...CACHE_MODES,
    ],
  },
}

/** Options of an execution provider, by the names that ONNX Runtime's binding has for them. */
export type ProviderOptions = Readonly<
  Record<string, string | number | boolean | readonly string[]>
>

/** Where a worker is to run its model. */
export interface DeviceChoice {
  /** Name of the device, such as `cuda:0`. */
  readonly name: string
  /** `cpu`: where the device cannot be used, the worker runs on the CPU. @default the load fails */
  readonly fallback?: 'cpu' | undefined
  readonly options?: ProviderOptions | undefined
}

/** Where a worker runs its model, where its settings name a device. */
export interface DevicePlacement {
  readonly name: string
  /** Why it is not the device of the settings; undefined where it is. */
  readonly why?: string
}

/** The provider of a device and its number there. Throws INVALID_ARGUMENT. */
export function providerOf(device: string): {
  readonly provider: string
  readonly index: number | undefined
} {
  const [, provider = '', index] = /^([a-z]+)(?::(\d{1,3}))?$/.exec(device) ?? []
  const known = Object.keys(PROVIDERS)
  if (!Object.hasOwn(PROVIDERS, provider)) {
    const nearest = nearestWord(provider, known)
    const hint = nearest === undefined ? `they are ${known.join(', ')}` : `did you mean ${nearest}?`
    requireArgument(false, `"${device.slice(0, 40)}" is no device; ${hint}`)
  }
  requireArgument(
    index === undefined || PROVIDERS[provider]!.isNumbered,
    `"${device}": ${provider} has no numbered devices; write ${provider}`,
  )
  return { provider, index: index === undefined ? undefined : Number(index) }
}

/** The options that a device takes. Throws INVALID_ARGUMENT for an unknown device. */
export const optionsOf = (device: string): readonly string[] =>
  PROVIDERS[providerOf(device).provider]!.options
