import type { InferenceSession } from 'onnxruntime-node'
import { messageOf, WeirError } from '../../core/errors.ts'
import { type DeviceChoice, type DevicePlacement, providerOf } from '../port/device.ts'

/** What a session runs on, as ONNX Runtime takes it. */
type Provider = InferenceSession.ExecutionProviderConfig

/** What opens sessions of one model. */
export interface SessionFactory<Session> {
  /** Providers that this build of ONNX Runtime has. */
  readonly backends: readonly string[]
  create(provider: Provider): Promise<Session>
}

/** What a provider needs on the machine. */
const NEEDS: Readonly<Record<string, string>> = {
  cuda: 'it needs an NVIDIA driver, CUDA 12 with cuDNN 9, and the CUDA libraries of ONNX Runtime: "npm install onnxruntime-node" without ONNXRUNTIME_NODE_INSTALL=skip',
  tensorrt:
    'it needs an NVIDIA driver, CUDA 12, TensorRT 10, and the CUDA libraries of ONNX Runtime: "npm install onnxruntime-node" without ONNXRUNTIME_NODE_INSTALL=skip',
  dml: 'it needs Windows with DirectX 12',
  coreml: 'it needs macOS',
  webgpu: 'it needs a graphics driver: Vulkan on Linux, Metal on macOS, DirectX 12 on Windows',
}

/**
 * Opens a session on a device, or on the CPU where the device cannot be used and the choice allows that. Operations that the
 * device has no kernel for run on the CPU, as ONNX Runtime places them. Rejects with MODEL_FAILED, and as `create` for the CPU.
 */
export async function openOnDevice<Session>(
  { name, fallback, options = {} }: DeviceChoice,
  { backends, create }: SessionFactory<Session>,
): Promise<{ readonly session: Session; readonly placement: DevicePlacement }> {
  const { provider, index } = providerOf(name)
  if (provider === 'cpu') return { session: await create('cpu'), placement: { name } }
  try {
    if (!backends.includes(provider)) {
      throw new Error(`this onnxruntime-node has ${backends.join(', ')}`)
    }
    const number = index === undefined ? {} : { deviceId: index }
    const session = await create({ name: provider, ...number, ...options })
    return { session, placement: { name } }
  } catch (error) {
    const refusal = refusalOf(name, provider, error)
    if (fallback !== 'cpu') throw refusal
    // A file that no device can load fails here with its own error.
    return { session: await create('cpu'), placement: { name: 'cpu', why: refusal.message } }
  }
}

function refusalOf(name: string, provider: string, error: unknown): WeirError {
  const [reason = ''] = messageOf(error).trim().split('\n')
  const message = `the model cannot be loaded on ${name}: ${reason}. ${NEEDS[provider]!}. Or set "device: cpu", or "fallback: cpu" with this device`
  return new WeirError('MODEL_FAILED', message, { cause: error })
}
