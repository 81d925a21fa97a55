/** Worker thread of training on a GPU, because ONNX Runtime blocks the calling thread. */
import { parentPort } from 'node:worker_threads'
import { messageOf, WeirError } from '../../../core/errors.ts'
import type { AlsShare } from '../solver/share.ts'
import type { AlsSideName } from '../solver/solver.ts'
import { type GpuProvider, type GpuRuntime, openGpuRuntime } from './runtime.ts'
import { GpuAlsSolver } from './solver.ts'

/** A request to the worker; it gets one at a time. */
export type GpuRequest =
  | { readonly kind: 'open'; readonly providers: readonly GpuProvider[] }
  | { readonly kind: 'load'; readonly share: AlsShare }
  | { readonly kind: 'solve'; readonly side: AlsSideName; readonly needsRows: boolean }
  | { readonly kind: 'close' }

/** An answer: the provider that `open` found, or the error of the request. */
export type GpuAnswer =
  | { readonly provider: GpuProvider | undefined }
  | { readonly failed: Pick<WeirError, 'code' | 'message' | 'details'> }

let runtime: GpuRuntime | undefined
let solver: GpuAlsSolver | undefined

async function fulfil(request: GpuRequest): Promise<void> {
  if (request.kind === 'open') {
    runtime = await openGpuRuntime(request.providers)
  } else if (request.kind === 'load' && runtime !== undefined) {
    await solver?.[Symbol.asyncDispose]()
    solver = undefined
    solver = await GpuAlsSolver.create(runtime, request.share)
  } else if (request.kind === 'solve') {
    await solver?.solve(request.side, request.needsRows)
  } else {
    await solver?.[Symbol.asyncDispose]()
  }
}

async function answerTo(request: GpuRequest): Promise<GpuAnswer> {
  try {
    await fulfil(request)
    return { provider: runtime?.provider }
  } catch (error) {
    const { code, details } =
      error instanceof WeirError ? error : { code: 'GPU_FAILED' as const, details: {} }
    return { failed: { code, message: messageOf(error), details } }
  }
}

parentPort?.on('message', async (request: GpuRequest) => {
  parentPort?.postMessage(await answerTo(request))
  if (request.kind === 'close') parentPort?.close()
})
