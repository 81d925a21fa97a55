import { Worker } from 'node:worker_threads'
import type { WeirError } from '../core/errors.ts'
import type { JobOptions } from '../dataflow/job-definition.ts'
import { type SlotHost, type SlotListener, slotLost } from './slot-host.ts'
import type { MessagePortLike, SlotCommand, SlotReport } from './slot-protocol.ts'

/** A job that a thread can build for itself. */
export interface JobModule {
  /** URL of a module whose default export was made with `defineJob`. */
  readonly url: string
  /** Options of the job: plain data. */
  readonly options: JobOptions
  readonly parallelism?: number
  readonly maxParallelism?: number
}

/** What a slot thread starts with. */
export interface SlotThreadData {
  readonly slot: number
  readonly job: JobModule
}

const THREAD_URL = new URL(
  import.meta.url.endsWith('.ts') ? './slot-thread.ts' : './slot-thread.js',
  import.meta.url,
)

/** A slot in a worker thread. */
export class WorkerSlot implements SlotHost {
  readonly remote = true
  private readonly worker: Worker
  private readonly listener: SlotListener
  private ending = false

  constructor(slot: number, job: JobModule, listener: SlotListener) {
    this.listener = listener
    const workerData: SlotThreadData = { slot, job }
    this.worker = new Worker(THREAD_URL, { workerData, name: `slot-${slot}` })
    this.worker.on('message', (report: SlotReport) => {
      if (!this.ending) listener.report(report)
    })
    this.worker.on('error', (error) => this.lost(slotLost(slot, error)))
    this.worker.on('exit', (code) => {
      this.lost(slotLost(slot, new Error(`its thread ended with code ${code}`)))
    })
  }

  send(command: SlotCommand, ports: readonly MessagePortLike[] = []): void {
    if (!this.ending) this.worker.postMessage(command, ports)
  }

  kill(): void {
    void this.worker.terminate()
  }

  async terminate(): Promise<void> {
    this.ending = true
    await this.worker.terminate()
  }

  private lost(error: WeirError): void {
    if (this.ending) return
    this.ending = true
    this.listener.lost(error)
  }
}
