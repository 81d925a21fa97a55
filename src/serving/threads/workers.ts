import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { siblingModule, THREAD_LIMITS } from '../../core/sibling-module.ts'

/** A query worker thread and the main thread's end of its port. */
export interface QueryWorker {
  readonly worker: Worker
  readonly port: MessagePort
}

/** Starts a query worker thread; it waits for its setup. */
export function startQueryWorker(): QueryWorker {
  const { port1, port2 } = new MessageChannel()
  const url = siblingModule('./worker', import.meta.url)
  const worker = new Worker(url, {
    workerData: port2,
    transferList: [port2],
    resourceLimits: THREAD_LIMITS,
  })
  return { worker, port: port1 }
}

/**
 * Query workers that load their code while the main thread loads its own, as `SlotThreads` does for the
 * slots. This module imports almost nothing, so that workers start first.
 */
export class QueryWorkers {
  private readonly waiting = new Set<QueryWorker>()

  constructor(count: number) {
    for (let i = 0; i < count; i++) {
      const started = startQueryWorker()
      this.waiting.add(started)
      // The user then starts another worker, and sees the failure there.
      started.worker.once('error', () => this.waiting.delete(started))
      started.worker.once('exit', () => this.waiting.delete(started))
    }
  }

  /** A worker that is not taken yet; undefined when none is left. */
  take(): QueryWorker | undefined {
    const [first] = this.waiting
    if (first !== undefined) this.waiting.delete(first)
    return first
  }

  /** Ends the workers that were not taken. */
  async close(): Promise<void> {
    const left = [...this.waiting]
    this.waiting.clear()
    for (const { port } of left) port.close()
    await Promise.all(left.map(({ worker }) => worker.terminate()))
  }
}
