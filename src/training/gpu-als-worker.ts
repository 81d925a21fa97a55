/** Worker thread of training on a GPU: ONNX Runtime blocks the thread that calls it. */
import { parentPort } from 'node:worker_threads'
import { messageOf, WeirError } from '../core/errors.ts'
import type { AlsShare } from './als-share.ts'
import type { AlsSideName } from './als-solver.ts'
import { GpuAlsSolver } from './gpu-als-solver.ts'
import { type GpuProvider, type GpuRuntime, openGpuRuntime } from './gpu-runtime.ts'

/** What the worker is asked, one request after the other. */
export type GpuRequest =
  | { readonly kind: 'open'; readonly providers: readonly GpuProvider[] }
  | { readonly kind: 'load'; readonly share: AlsShare }
  | { readonly kind: 'solve'; readonly side: AlsSideName; readonly isWanted: boolean }
  | { readonly kind: 'close' }

/** Its answer: what `open` found, or why the request failed. */
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
    await solver?.solve(request.side, request.isWanted)
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
