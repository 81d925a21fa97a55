import { Worker } from 'node:worker_threads'
import { WeirError } from '../../core/errors.ts'
import { siblingModule, THREAD_LIMITS } from '../../core/sibling-module.ts'
import type { DevicePlacement } from '../port/device.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { ServeMessage, WorkerMessage, WorkerStart } from '../workers/messages.ts'

/** What is heard of a worker that serves a queue. */
export interface WorkerListener {
  /** The model is away and wanted, has left, or is back. */
  readonly onMove: (kind: 'wanted' | 'left' | 'entered') => void
  /** The process of the model was replaced because of its memory. */
  readonly onExceeded: () => void
  /** The worker must be replaced: a run of another model in its thread does not end. */
  readonly onWrittenOff: () => void
}

/** A worker that has loaded its model. */
export interface ModelWorker {
  readonly signature: ModelSignature
  /** Where it runs, where its settings name a device. */
  readonly placement: DevicePlacement | undefined
  /** Time of a run of the largest batch, ms; 0 where it was not measured. */
  readonly runMs: number
  /** Resolves when the worker has ended. */
  readonly exited: Promise<void>
  /** Lets the worker serve a queue. */
  serve(message: ServeMessage, listener: WorkerListener): void
  /** Ends a worker that serves no queue; it frees its model first. */
  dismiss(): Promise<void>
  /** Gives up a worker whose run does not end. */
  abandon(): void
  /** Gives up a worker that was asked to end and has not. */
  forget(): void
}

/** Thread of a worker that has loaded its model. */
export class WorkerThread implements ModelWorker {
  readonly signature: ModelSignature
  readonly placement: DevicePlacement | undefined
  readonly runMs = 0
  /** Resolves when the thread has ended. */
  readonly exited: Promise<void>
  private readonly thread: Worker
  private readonly mayTerminate: boolean

  private constructor(
    thread: Worker,
    { signature, placement }: Pick<ModelWorker, 'signature' | 'placement'>,
    start: WorkerStart,
  ) {
    this.thread = thread
    this.signature = signature
    this.placement = placement
    this.exited = new Promise((resolve) => thread.once('exit', () => resolve()))
    this.mayTerminate = mayTerminate(start)
    // An error that nothing caught ends the thread; the exit is what counts.
    thread.on('error', () => {})
  }

  /**
   * Starts a thread and waits until it has loaded the model. Rejects with the error of the load, and with the reason of
   * an aborted `signal`; the thread ends then.
   */
  static start(start: WorkerStart, signal?: AbortSignal): Promise<WorkerThread> {
    const thread = new Worker(siblingModule('../workers/thread', import.meta.url), {
      workerData: start,
      resourceLimits: THREAD_LIMITS,
    })
    endChildWith(thread)
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        thread.off('message', onMessage).off('error', onError).off('exit', onExit)
        signal?.removeEventListener('abort', onAbort)
        finish()
      }
      const onAbort = (): void => {
        // An error of the thread that ends now would be one of the process.
        thread.on('error', () => {})
        settle(() => reject(signal!.reason))
        endThread(thread, mayTerminate(start))
      }
      const onError = (error: unknown): void => settle(() => reject(error))
      const onExit = (code: number): void => settle(() => reject(endedEarly(code)))
      const onMessage = (message: WorkerMessage): void => {
        if (message.kind === 'loaded') {
          settle(() => resolve(new WorkerThread(thread, message, start)))
        } else if (message.kind === 'failed') {
          settle(() => reject(new WeirError(message.code, message.message)))
        }
      }
      thread.on('message', onMessage).once('error', onError).once('exit', onExit)
      signal?.addEventListener('abort', onAbort, { once: true })
      if (signal?.aborted === true) onAbort()
    })
  }

  /** Lets the worker serve a queue. */
  serve(message: ServeMessage, { onMove, onExceeded }: WorkerListener): void {
    this.thread.on('message', ({ kind }: WorkerMessage) => {
      if (kind === 'wanted' || kind === 'left' || kind === 'entered') onMove(kind)
      else if (kind === 'exceeded') onExceeded()
    })
    this.thread.postMessage(message, message.parts === undefined ? [] : [message.parts])
  }

  /** Ends a worker that serves no queue; it frees its model first. */
  async dismiss(): Promise<void> {
    this.thread.postMessage(undefined)
    await this.exited
  }

  /**
   * Ends the thread, also in the middle of a run. A thread with a session of ONNX Runtime ends when its run
   * returns: to terminate it before aborts the whole process (microsoft/onnxruntime#24486). It no longer keeps
   * the process alive.
   */
  abandon(): void {
    endThread(this.thread, this.mayTerminate)
  }

  forget(): void {
    this.abandon()
  }
}

const mayTerminate = ({ source, isolation }: WorkerStart): boolean =>
  source.kind !== 'onnx' || isolation === 'process'

/** Ends a thread now, or lets the process end without it. */
function endThread(thread: Worker, mayTerminate: boolean): void {
  if (mayTerminate) void thread.terminate()
  else thread.unref()
}

const endedEarly = (code: number): WeirError =>
  new WeirError('MODEL_FAILED', `the worker ended with exit code ${code} while it loaded the model`)

/** Ends the child process of a worker together with its thread; it may be in an endless run. */
function endChildWith(thread: Worker): void {
  let pid: number | undefined
  thread.on('message', (message: WorkerMessage) => {
    if (message.kind === 'child') pid = message.pid
  })
  thread.once('exit', () => {
    if (pid === undefined) return
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  })
}
