import type { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { asWeirError, messageOf, WeirError } from '../../core/errors.ts'
import type { DevicePlacement } from '../port/device.ts'
import type { ModelSource } from '../port/model.ts'
import type { LoadedModel, RunnerOptions } from '../port/runner.ts'
import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import type { Tensor, TensorDatatype } from '../port/tensor.ts'
import { stringsOfBytes, stringsToBytes } from './byte-strings.ts'
import { openOnDevice } from './device-session.ts'
import { onnxSignature } from './onnx-signature.ts'
import { openOptimised } from './optimised-graph.ts'

type OnnxRuntime = typeof import('onnxruntime-node')
type OnnxSource = Extract<ModelSource, { kind: 'onnx' }>

/** Constructor of the elements of each ONNX type, and its datatype. */
const TYPES = {
  float32: ['FP32', Float32Array],
  float64: ['FP64', Float64Array],
  float16: ['FP16', Uint16Array],
  int8: ['INT8', Int8Array],
  int16: ['INT16', Int16Array],
  int32: ['INT32', Int32Array],
  int64: ['INT64', BigInt64Array],
  uint8: ['UINT8', Uint8Array],
  uint16: ['UINT16', Uint16Array],
  uint32: ['UINT32', Uint32Array],
  uint64: ['UINT64', BigUint64Array],
  bool: ['BOOL', Uint8Array],
  string: ['BYTES', undefined],
} as const

type OnnxType = keyof typeof TYPES

/** Loads an ONNX file into a session of ONNX Runtime. Throws MODEL_FAILED or an error of the file. */
export async function loadOnnx(source: OnnxSource, options: RunnerOptions): Promise<LoadedModel> {
  const runtime = await loadOnnxRuntime()
  try {
    const { session, placement } = await openSession(runtime, source.file, options)
    return new OnnxModel(runtime, session, { file: source.file, options, placement })
  } catch (error) {
    throw asWeirError(withoutLocale(error) ?? error, 'MODEL_FAILED', source.file)
  }
}

/** What is to be done where the machine has no locale that a string operation needs; undefined for other errors. */
function withoutLocale(error: unknown): Error | undefined {
  const locale = /Failed to construct locale with name:([^:\s]+)/.exec(messageOf(error))?.[1]
  if (locale === undefined) return undefined
  const [language, encoding = 'UTF-8'] = locale.split('.')
  return new Error(
    `a string operation of the model (StringNormalizer) needs the locale ${locale}, which this machine does not have. Install it (Debian: "apt-get install locales && localedef -i ${language} -f ${encoding} ${locale}"), or give the operation the locale C.UTF-8`,
    { cause: error },
  )
}

interface OpenedSession {
  readonly session: InferenceSession
  readonly placement?: DevicePlacement
}

async function openSession(
  { InferenceSession: sessions, listSupportedBackends }: OnnxRuntime,
  file: string,
  { threads, isSmall = false, optimised, device }: RunnerOptions,
): Promise<OpenedSession> {
  const settings = {
    executionProviders: ['cpu'],
    intraOpNumThreads: threads,
    executionMode: 'sequential',
    logSeverityLevel: 4,
    ...(isSmall ? { enableCpuMemArena: false, enableMemPattern: false } : {}),
    // A worker that spins for the next operation takes the core of another worker.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  } as const
  if (device !== undefined) {
    const backends = listSupportedBackends().map(({ name }) => name)
    const create = (provider: InferenceSession.ExecutionProviderConfig) =>
      sessions.create(file, { ...settings, executionProviders: [provider] })
    return await openOnDevice(device, { backends, create })
  }
  if (optimised === undefined) return { session: await sessions.create(file, settings) }
  const create = (path: string, its: InferenceSession.SessionOptions) => sessions.create(path, its)
  return { session: await openOptimised(create, settings, { file, optimised }) }
}

/**
 * Lets the runtime hold floats of 16 bits as Uint16Array: where Node has Float16Array, its binding counts the bytes of one
 * as 0 (microsoft/onnxruntime#32323). It looks for the class once, at the first tensor.
 */
function keepHalvesAsBits({ Tensor: RuntimeTensor }: OnnxRuntime): void {
  const kept = Object.getOwnPropertyDescriptor(globalThis, 'Float16Array')
  if (kept === undefined) return
  Reflect.deleteProperty(globalThis, 'Float16Array')
  try {
    new RuntimeTensor('bool', Uint8Array.of(0), [1])
  } finally {
    Object.defineProperty(globalThis, 'Float16Array', kept)
  }
}

/** ONNX Runtime, loaded at the first use. Throws MODEL_FAILED when it is not installed. */
export async function loadOnnxRuntime(): Promise<OnnxRuntime> {
  try {
    const loaded = await import('onnxruntime-node')
    const runtime = loaded.default ?? loaded
    runtime.env.logLevel = 'fatal'
    keepHalvesAsBits(runtime)
    return runtime
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' && messageOf(error).includes('onnxruntime')
    const sentence = isMissing
      ? 'ONNX models need the package onnxruntime-node: run `ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node` and start again'
      : `ONNX Runtime cannot be loaded on this machine: ${messageOf(error)}`
    throw new WeirError('MODEL_FAILED', sentence, { cause: error })
  }
}

class OnnxModel implements LoadedModel {
  readonly signature: ModelSignature
  readonly placement: DevicePlacement | undefined
  private readonly runtime: OnnxRuntime
  private readonly session: InferenceSession
  private readonly inputTypes: readonly OnnxType[]

  constructor(
    runtime: OnnxRuntime,
    session: InferenceSession,
    {
      file,
      options,
      placement,
    }: {
      readonly file: string
      readonly options: RunnerOptions
      readonly placement: DevicePlacement | undefined
    },
  ) {
    this.runtime = runtime
    this.session = session
    this.placement = placement
    this.inputTypes = session.inputMetadata.map((metadata) => typeOf(metadata))
    this.signature =
      options.signature ??
      onnxSignature(
        {
          inputs: session.inputMetadata.map(specOf),
          outputs: session.outputMetadata.map(specOf),
        },
        file,
        options,
      )
  }

  async run(inputs: readonly Tensor[]): Promise<readonly Tensor[]> {
    const feeds: Record<string, OrtTensor> = {}
    inputs.forEach((tensor, i) => {
      feeds[tensor.name] = this.toOrt(tensor, this.inputTypes[i]!)
    })
    let results: InferenceSession.OnnxValueMapType
    try {
      results = await this.session.run(feeds)
    } catch (error) {
      throw new WeirError('MODEL_FAILED', `ONNX Runtime: ${messageOf(error)}`, { cause: error })
    }
    return this.signature.outputs.map((spec) => fromOrt(results[spec.name] as OrtTensor, spec))
  }

  async close(): Promise<void> {
    await this.session.release()
  }

  private toOrt({ name, shape, data }: Tensor, type: OnnxType): OrtTensor {
    const Elements = TYPES[type][1]
    if (Elements === undefined) {
      return new this.runtime.Tensor('string', stringsOfBytes(data, name), shape)
    }
    const { buffer, byteOffset, length } = data
    // Any typed array is right here: the type and the constructor are of one row.
    const elements = new Elements(
      buffer as ArrayBuffer,
      byteOffset,
      length / Elements.BYTES_PER_ELEMENT,
    )
    return new this.runtime.Tensor(type as 'float32', elements as Float32Array, shape)
  }
}

function fromOrt(tensor: OrtTensor, { name, datatype }: TensorSpec): Tensor {
  const shape = tensor.dims
  if (tensor.type === 'string') {
    return { name, datatype, shape, data: stringsToBytes(tensor.data as string[]) }
  }
  const { buffer, byteOffset, byteLength } = tensor.data as Float32Array
  return { name, datatype, shape, data: new Uint8Array(buffer, byteOffset, byteLength) }
}

function typeOf(metadata: InferenceSession.ValueMetadata): OnnxType {
  const { name, isTensor } = metadata
  if (isTensor && Object.hasOwn(TYPES, metadata.type)) return metadata.type as OnnxType
  const what = isTensor
    ? `of type ${metadata.type}, which is not served`
    : 'no tensor, and only tensors are served. If it is a list of maps (ZipMap of scikit-learn or LightGBM), export the model with zipmap=False (skl2onnx: options={"zipmap": False}); otherwise leave the output out'
  throw new WeirError('MODEL_FAILED', `"${name}" is ${what}`)
}

function specOf(metadata: InferenceSession.ValueMetadata): TensorSpec {
  const { name } = metadata
  const sizes = metadata.isTensor ? metadata.shape : []
  const shape = sizes.map((size) => (typeof size === 'number' ? size : -1))
  return { name, datatype: TYPES[typeOf(metadata)][0] as TensorDatatype, shape }
}
