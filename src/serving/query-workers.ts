import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'

/** A query worker thread and the main thread's end of its port. */
export interface QueryWorker {
  readonly worker: Worker
  readonly port: MessagePort
}

/** Starts a query worker thread; it waits for its setup. */
export function startQueryWorker(): QueryWorker {
  const { port1, port2 } = new MessageChannel()
  // tsc rewrites import specifiers, not URLs: the entry has this file's own ending.
  const entry = import.meta.url.endsWith('.ts') ? './query-worker.ts' : './query-worker.js'
  const url = new URL(entry, import.meta.url)
  return { worker: new Worker(url, { workerData: port2, transferList: [port2] }), port: port1 }
}

/**
 * Query workers that load their code while the main thread loads its own, as `SlotThreads` do for the
 * slots. This module imports nothing, so that they can be first.
 */
export class QueryWorkers {
  private readonly waiting = new Set<QueryWorker>()

  constructor(count: number) {
    for (let i = 0; i < count; i++) {
      const started = startQueryWorker()
      this.waiting.add(started)
      // Whoever needs it starts another one, and sees the failure there.
      started.worker.once('error', () => this.waiting.delete(started))
      started.worker.once('exit', () => this.waiting.delete(started))
    }
  }

  /** One of them, once; undefined when none is left. */
  take(): QueryWorker | undefined {
    const [first] = this.waiting
    if (first !== undefined) this.waiting.delete(first)
    return first
  }

  /** Ends those that nobody took. */
  async close(): Promise<void> {
    const left = [...this.waiting]
    this.waiting.clear()
    for (const { port } of left) port.close()
    await Promise.all(left.map(({ worker }) => worker.terminate()))
  }
}
