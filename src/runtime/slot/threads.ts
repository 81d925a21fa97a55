import { Worker } from 'node:worker_threads'
import { siblingModule, THREAD_LIMITS } from '../../core/sibling-module.ts'

/** Data that a slot thread starts with. */
export interface SlotThreadData {
  /** URL of the job's module, which the thread loads at once. */
  readonly url: string
}

const THREAD_URL = siblingModule('./thread', import.meta.url)

/** Starts the thread of a slot; it waits for its job. */
export function startSlotThread(slot: number, url: string): Worker {
  const workerData: SlotThreadData = { url }
  return new Worker(THREAD_URL, {
    workerData,
    name: `slot-${slot}`,
    resourceLimits: THREAD_LIMITS,
  })
}

/**
 * Slot threads that load their code while the main thread loads its code, which takes half of the
 * time from the start of a process to its first answer. This module imports almost nothing, so that
 * the threads can start first.
 */
export class SlotThreads {
  private readonly waiting = new Map<number, Worker>()

  /** Threads for the slots below `count` of a job whose module is at `url`. */
  constructor(url: URL, count: number) {
    for (let slot = 0; slot < count; slot++) {
      const worker = startSlotThread(slot, url.href)
      this.waiting.set(slot, worker)
      // `take` then returns undefined: its caller starts another thread, and sees the failure there.
      worker.once('error', () => this.waiting.delete(slot))
      worker.once('exit', () => this.waiting.delete(slot))
    }
  }

  /** The thread of a slot, the first time; undefined if it has ended or there was none. */
  take(slot: number): Worker | undefined {
    const worker = this.waiting.get(slot)
    this.waiting.delete(slot)
    return worker
  }

  /** Ends the threads that were not taken. */
  async close(): Promise<void> {
    const left = [...this.waiting.values()]
    this.waiting.clear()
    await Promise.all(left.map((worker) => worker.terminate()))
  }
}
