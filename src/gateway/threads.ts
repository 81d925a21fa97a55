import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type ErrorCode, WeirError } from '../core/errors.ts'
import { siblingModule, THREAD_LIMITS } from '../core/sibling-module.ts'
import type { AccessShare } from '../http/access/control.ts'
import type { GatewaySettings } from './run.ts'

/** Message of a gateway's thread to the thread that started it. */
export type GatewayThreadMessage =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }

/** Message to a gateway's thread. */
export type GatewayThreadRequest =
  | { readonly kind: 'access'; readonly access: AccessShare }
  | { readonly kind: 'end' }

/** Gateways in threads of their own that listen on one port; the system spreads the connections. */
export class GatewayThreads implements AsyncDisposable {
  readonly port: number
  /** Rejects with ILLEGAL_STATE when a thread ends without being asked to. */
  readonly failure: Promise<never>
  private readonly workers: readonly Worker[]

  private constructor(port: number, workers: readonly Worker[]) {
    this.port = port
    this.workers = workers
    this.failure = Promise.race(workers.map(unexpectedEnd))
    this.failure.catch(() => undefined)
  }

  /** Starts the threads. Rejects as `RunningGateway.start`. */
  static async start(
    settings: Omit<GatewaySettings, 'sharesPort' | 'siblings'>,
    threads: number,
  ): Promise<GatewayThreads> {
    const workers: Worker[] = []
    let { port } = settings
    const channel = `weir-gateway-${randomUUID()}`
    try {
      // The first thread finds the port if the system is to choose it.
      for (let i = 0; i < threads; i++) {
        const worker = new Worker(siblingModule('./worker', import.meta.url), {
          resourceLimits: THREAD_LIMITS,
          workerData: {
            ...settings,
            port,
            sharesPort: threads > 1,
            siblings: { channel, threads, thread: i },
          } satisfies GatewaySettings,
        })
        workers.push(worker)
        port = await portOf(worker)
      }
      return new GatewayThreads(port, workers)
    } catch (error) {
      await Promise.all(workers.map((worker) => worker.terminate()))
      throw error
    }
  }

  /** Uses other tokens from now on. */
  replaceAccess(access: AccessShare): void {
    const request: GatewayThreadRequest = { kind: 'access', access }
    for (const worker of this.workers) worker.postMessage(request)
  }

  /** Answers the requests that are under way, then ends the threads. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.workers.map(end))
  }
}

async function portOf(worker: Worker): Promise<number> {
  const [message] = (await once(worker, 'message')) as [GatewayThreadMessage]
  if (message.kind === 'listening') return message.port
  throw new WeirError(message.code, message.message)
}

async function end(worker: Worker): Promise<void> {
  const ended = once(worker, 'exit')
  worker.removeAllListeners('error')
  worker.postMessage({ kind: 'end' } satisfies GatewayThreadRequest)
  await ended
}

async function unexpectedEnd(worker: Worker): Promise<never> {
  const cause = await new Promise<unknown>((resolve) => {
    worker.once('error', resolve)
    worker.once('exit', (code) => resolve(`exit code ${code}`))
  })
  throw new WeirError('ILLEGAL_STATE', `a thread of the gateway ended: ${String(cause)}`, { cause })
}
