import type { MessagePort } from 'node:worker_threads'
import { messageOf, WeirError } from '../../core/errors.ts'
import { type GpuProvider, type GpuRuntime, openGpuRuntime } from './runtime.ts'

/** A request to the thread of a GPU; it gets one at a time. */
export type GpuRequest<Work> =
  | { readonly kind: 'open'; readonly providers: readonly GpuProvider[] }
  | { readonly kind: 'work'; readonly work: Work }
  | { readonly kind: 'close' }

/** An answer: the provider that `open` found, or the error of the request. */
export type GpuAnswer =
  | { readonly provider: GpuProvider | undefined }
  | { readonly failed: Pick<WeirError, 'code' | 'message' | 'details'> }

/** What a thread does with its GPU; disposal frees the GPU's memory. */
export interface GpuParticipant<Work> extends AsyncDisposable {
  run(runtime: GpuRuntime, work: Work): Promise<void>
}

/** Thread side of `GpuThread`: opens a GPU and passes it on with each work that arrives. */
export function serveGpu<Work>(port: MessagePort | null, participant: GpuParticipant<Work>): void {
  let runtime: GpuRuntime | undefined
  const fulfil = async (request: GpuRequest<Work>): Promise<void> => {
    if (request.kind === 'open') runtime = await openGpuRuntime(request.providers)
    else if (request.kind === 'close') await participant[Symbol.asyncDispose]()
    else if (runtime !== undefined) await participant.run(runtime, request.work)
  }
  port?.on('message', async (request: GpuRequest<Work>) => {
    port.postMessage(await answerOf(fulfil(request), () => runtime?.provider))
    if (request.kind === 'close') port.close()
  })
}

async function answerOf(
  done: Promise<void>,
  provider: () => GpuProvider | undefined,
): Promise<GpuAnswer> {
  try {
    await done
    return { provider: provider() }
  } catch (error) {
    const { code, details } =
      error instanceof WeirError ? error : { code: 'GPU_FAILED' as const, details: {} }
    return { failed: { code, message: messageOf(error), details } }
  }
}
