import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { InferenceSession, Tensor } from 'onnxruntime-node'
import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { OnnxGraphBuilder } from './onnx-graph.ts'

type OnnxRuntime = typeof import('onnxruntime-node')

/** Execution providers of ONNX Runtime; `cpu` runs the same graphs and needs no GPU (for tests). */
export type GpuProvider = 'webgpu' | 'cuda' | 'cpu'

/** Place of each output of a graph: on the device, for another graph, or in the memory of this process. */
export type OutputPlaces = Readonly<Record<string, 'device' | 'here'>>

/** ONNX Runtime with a provider that works on this machine. */
export interface GpuRuntime {
  readonly provider: GpuProvider
  /** Compiles a graph. Throws GPU_FAILED. */
  open(model: Uint8Array, places: OutputPlaces): Promise<GpuGraph>
  float32(values: Float32Array, shape: readonly number[]): Tensor
  int32(values: Int32Array, shape: readonly number[]): Tensor
}

/** A compiled graph. */
export interface GpuGraph extends AsyncDisposable {
  /** Runs the graph and returns the named outputs; blocks the thread. Throws GPU_FAILED. */
  run(
    inputs: Readonly<Record<string, Tensor>>,
    outputs: readonly string[],
  ): Promise<Readonly<Record<string, Tensor>>>
}

/**
 * Loads ONNX Runtime, which no other module of Weir loads, and chooses the first provider that works:
 * CUDA if its library is installed with the runtime, else WebGPU. Throws GPU_UNAVAILABLE.
 */
export async function openGpuRuntime(
  providers: readonly GpuProvider[] = ['cuda', 'webgpu'],
): Promise<GpuRuntime> {
  const runtime = await loadOnnxRuntime()
  runtime.env.logLevel = 'fatal'
  let reason = ''
  for (const provider of providers) {
    if (provider === 'cuda' && !hasCudaLibrary()) continue
    try {
      const candidate = runtimeOn(runtime, provider)
      await using probe = await candidate.open(probeModel(), { sum: 'here' })
      await probe.run({ x: candidate.float32(Float32Array.of(1), [1]) }, ['sum'])
      return candidate
    } catch (error) {
      reason = messageOf(error)
    }
  }
  throw unavailable(noAdapter(reason), 'train with device cpu instead', reason)
}

function noAdapter(reason: string): string {
  return /adapter/i.test(reason)
    ? 'no GPU found: WebGPU needs a GPU with its driver, on Linux a Vulkan driver and libvulkan.so.1'
    : `no GPU can be used here: ${reason}`
}

/** GPU_UNAVAILABLE; its details have the cause alone, which a fallback to the CPU reports. */
function unavailable(cause: string, remedy: string, error: unknown): WeirError {
  return new WeirError('GPU_UNAVAILABLE', `${cause}; ${remedy}`, {
    cause: error,
    details: { cause },
  })
}

async function loadOnnxRuntime(): Promise<OnnxRuntime> {
  try {
    const loaded = await import('onnxruntime-node')
    return loaded.default ?? loaded
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' && messageOf(error).includes('onnxruntime')
    throw isMissing
      ? unavailable(
          'training on a GPU needs the package onnxruntime-node',
          'run `ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node` or train with device cpu',
          error,
        )
      : unavailable(
          `ONNX Runtime cannot be loaded on this machine: ${messageOf(error)}`,
          'train with device cpu instead',
          error,
        )
  }
}

/** A minimal graph, to test whether a provider works. */
function probeModel(): Uint8Array {
  const graph = new OnnxGraphBuilder()
  const x = graph.input('x', ['n'])
  graph.output('sum', graph.add('Add', [x, x]), { shape: ['n'] })
  return graph.build()
}

function hasCudaLibrary(): boolean {
  const entry = createRequire(import.meta.url).resolve('onnxruntime-node')
  const library = `bin/napi-v6/${process.platform}/${process.arch}/libonnxruntime_providers_cuda.so`
  return existsSync(join(dirname(entry), '..', library))
}

function runtimeOn(runtime: OnnxRuntime, provider: GpuProvider): GpuRuntime {
  return {
    provider,
    async open(model, places) {
      const options = sessionOptions(provider, places)
      const session = await whileFailing('compile a graph', () =>
        runtime.InferenceSession.create(model, options),
      )
      return {
        run: (inputs, outputs) => whileFailing('run', () => session.run({ ...inputs }, outputs)),
        [Symbol.asyncDispose]: () => session.release(),
      }
    },
    float32: (values, shape) => new runtime.Tensor('float32', values, shape),
    int32: (values, shape) => new runtime.Tensor('int32', values, shape),
  }
}

/**
 * Session options of a provider. Only WebGPU keeps outputs on the device; the binding copies those of
 * CUDA to the host. An operation that WebGPU lacks is an error, because it would run on the CPU.
 */
function sessionOptions(
  provider: GpuProvider,
  places: OutputPlaces,
): InferenceSession.SessionOptions {
  const common = { executionProviders: [provider], logSeverityLevel: 4 } as const
  if (provider !== 'webgpu') return common
  const locations = Object.entries(places).map(
    ([name, place]) => [name, place === 'device' ? 'gpu-buffer' : 'cpu'] as const,
  )
  return {
    ...common,
    preferredOutputLocation: Object.fromEntries(locations),
    extra: {
      session: { disable_cpu_ep_fallback: '1' },
      // Dawn would check every dispatch, which takes the host half of the first iteration.
      ep: { webgpuexecutionprovider: { validationMode: 'disabled' } },
    },
  }
}

async function whileFailing<T>(action: string, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt()
  } catch (error) {
    if (isWeirError(error)) throw error
    throw new WeirError('GPU_FAILED', `the GPU could not ${action}: ${messageOf(error)}`, {
      cause: error,
    })
  }
}
