import type { Worker } from 'node:worker_threads'
import type { WeirError } from '../core/errors.ts'
import type { JobOptions } from '../dataflow/job-definition.ts'
import { type SlotHost, type SlotListener, slotLost } from './slot-host.ts'
import type { MessagePortLike, SlotCommand, SlotReport } from './slot-protocol.ts'
import { startSlotThread } from './slot-threads.ts'

/** A job that a thread can build for itself. */
export interface JobModule {
  /** URL of a module whose default export was made with `defineJob`. */
  readonly url: string
  /** Options of the job: plain data. */
  readonly options: JobOptions
  readonly parallelism?: number
  readonly maxParallelism?: number
}

/** Main thread to slot thread: its job, told first, then the slot's commands. */
export type SlotThreadMessage = SlotCommand | { readonly kind: 'job'; readonly job: JobModule }

/** A slot in a worker thread. */
export class WorkerSlot implements SlotHost {
  readonly remote = true
  private readonly worker: Worker
  private readonly listener: SlotListener
  private ending = false

  /** `started`: a thread of this slot and job that was started before; it is this object's now. */
  constructor(slot: number, job: JobModule, listener: SlotListener, started?: Worker) {
    this.listener = listener
    this.worker = started ?? startSlotThread(slot, job.url)
    this.worker.postMessage({ kind: 'job', job } satisfies SlotThreadMessage)
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
