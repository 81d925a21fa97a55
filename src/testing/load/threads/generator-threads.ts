import { Worker } from 'node:worker_threads'
import { systemClock } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import { siblingModule } from '../../../core/sibling-module.ts'
import type { LoadGenerator, LoadRun } from '../port/generator.ts'
import type { Load } from '../port/load.ts'
import { type LoadWindow, overlayWindows } from '../port/window.ts'
import type { ThreadMessage, ThreadRequest, ThreadSettings } from './messages.ts'

/** Time for the message that starts a load to reach every thread. */
const START_AFTER_MS = 20

/** Threads that share every load, each with connections of its own. */
export class GeneratorThreads implements LoadGenerator {
  private readonly threads: readonly GeneratorThread[]

  private constructor(threads: readonly GeneratorThread[]) {
    this.threads = threads
  }

  /** Starts the threads and connects them. Rejects with the error of the connection. */
  static async start(
    settings: Omit<ThreadSettings, 'share'>,
    threads: number,
  ): Promise<GeneratorThreads> {
    const started = Array.from(
      { length: threads },
      (_, thread) => new GeneratorThread({ ...settings, share: { thread, threads } }),
    )
    const generator = new GeneratorThreads(started)
    try {
      await Promise.all(started.map((thread) => thread.answer()))
      return generator
    } catch (error) {
      await generator[Symbol.asyncDispose]()
      throw error
    }
  }

  async probe(tries: number): Promise<void> {
    await this.threads[0]!.ask({ kind: 'probe', tries })
  }

  async start(load: Load, limit = Number.POSITIVE_INFINITY): Promise<LoadRun> {
    const finished = this.threads.map((thread) => thread.nextFinish())
    const startMs = systemClock.monotonicMs() + START_AFTER_MS
    await this.askAll({ kind: 'start', load, limit, startMs })
    return {
      finished: Promise.all(finished).then(() => undefined),
      take: () => this.windowOf({ kind: 'take' }),
      stop: () => this.windowOf({ kind: 'stop' }),
    }
  }

  private async windowOf(request: ThreadRequest): Promise<LoadWindow> {
    const windows = await this.askAll(request)
    return overlayWindows(windows.flatMap((window) => window ?? []))
  }

  private askAll(request: ThreadRequest): Promise<(LoadWindow | undefined)[]> {
    return Promise.all(this.threads.map((thread) => thread.ask(request)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread[Symbol.asyncDispose]()))
  }
}

/** One thread, and the answers that it owes. */
class GeneratorThread implements AsyncDisposable {
  private readonly worker: Worker
  private readonly ended: Promise<void>
  private waiting: PromiseWithResolvers<LoadWindow | undefined> | undefined
  private finish = Promise.withResolvers<void>()
  /** Why the thread answers no more. */
  private failure: unknown

  constructor(settings: ThreadSettings) {
    this.worker = new Worker(siblingModule('./worker', import.meta.url), { workerData: settings })
    this.ended = new Promise((resolve) => this.worker.once('exit', () => resolve()))
    this.worker.on('message', (message: ThreadMessage) => this.receive(message))
    this.worker.on('error', (error) => this.lost(error))
    this.worker.on('exit', (code) =>
      this.lost(new WeirError('ILLEGAL_STATE', `a thread of the generator ended with ${code}`)),
    )
  }

  /** Sends a request and waits for its answer. */
  ask(request: ThreadRequest): Promise<LoadWindow | undefined> {
    const answer = this.answer()
    this.worker.postMessage(request)
    return answer
  }

  /** The next answer of the thread; its first says that it is connected. */
  answer(): Promise<LoadWindow | undefined> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    this.waiting = Promise.withResolvers()
    return this.waiting.promise
  }

  /** Resolves when the load that starts next has finished. */
  nextFinish(): Promise<void> {
    this.finish = Promise.withResolvers()
    return this.finish.promise
  }

  private receive(message: ThreadMessage): void {
    if (message.kind === 'finished') this.finish.resolve()
    else if (message.kind === 'failed') this.fail(new WeirError(message.code, message.message))
    else this.settle(message.window)
  }

  private settle(window: LoadWindow | undefined): void {
    const { waiting } = this
    this.waiting = undefined
    waiting?.resolve(window)
  }

  /** The thread has ended; nothing that it was asked for comes. */
  private lost(error: unknown): void {
    this.failure ??= error
    this.finish.resolve()
    this.fail(error)
  }

  private fail(error: unknown): void {
    const { waiting } = this
    this.waiting = undefined
    waiting?.reject(error)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.worker.postMessage({ kind: 'end' } satisfies ThreadRequest)
    await this.ended
  }
}
