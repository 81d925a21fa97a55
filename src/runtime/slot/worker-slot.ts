import type { Worker } from 'node:worker_threads'
import { sleep, systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { JobModule } from '../../dataflow/job/module.ts'
import { type SlotHost, type SlotListener, slotLost } from '../protocol/slot-host.ts'
import type { MessagePortLike, SlotCommand, SlotReport } from '../protocol/slot-messages.ts'
import { startSlotThread } from './threads.ts'

/** Main thread to slot thread: first its job, then the slot's commands. */
export type SlotThreadMessage = SlotCommand | { readonly kind: 'job'; readonly job: JobModule }

/** Options of a slot in a worker thread. */
export interface WorkerSlotOptions {
  readonly slot: number
  readonly job: JobModule
  readonly listener: SlotListener
  /** A thread of this slot and job that was started before, which the slot takes over. */
  readonly thread?: Worker | undefined
}

/** A slot in a worker thread. */
export class WorkerSlot implements SlotHost {
  readonly remote = true
  private readonly worker: Worker
  private readonly listener: SlotListener
  private ending = false
  private isKilled = false

  constructor({ slot, job, listener, thread }: WorkerSlotOptions) {
    this.listener = listener
    this.worker = thread ?? startSlotThread(slot, job.url)
    this.worker.postMessage({ kind: 'job', job } satisfies SlotThreadMessage)
    this.worker.on('message', (report: SlotReport) => {
      if (!this.ending) listener.report(report)
    })
    const lost = (cause: unknown): void => this.lost(slotLost(slot, cause, this.isKilled))
    this.worker.on('error', lost)
    this.worker.on('exit', (code) => lost(new Error(`its thread ended with code ${code}`)))
  }

  send(command: SlotCommand, ports: readonly MessagePortLike[] = []): void {
    if (!this.ending) this.worker.postMessage(command, ports)
  }

  kill(): void {
    this.isKilled = true
    void this.worker.terminate()
  }

  async terminate(): Promise<void> {
    this.ending = true
    await this.worker.terminate()
  }

  profile(durationMs: number): Promise<string> {
    return profileThread(this.worker, durationMs)
  }

  private lost(error: WeirError): void {
    if (this.ending) return
    this.ending = true
    this.listener.lost(error)
  }
}

/** V8's CPU profile of a thread over some time, as JSON. Throws UNSUPPORTED, SLOT_LOST. */
export async function profileThread(
  worker: Pick<Worker, 'startCpuProfile'>,
  durationMs: number,
): Promise<string> {
  if (typeof worker.startCpuProfile !== 'function') {
    const message = `Node ${process.versions.node} cannot profile a thread from another one; use Node 24.8 or newer`
    throw new WeirError('UNSUPPORTED', message)
  }
  try {
    const running = await worker.startCpuProfile()
    await sleep(systemClock, durationMs)
    return await running.stop()
  } catch (error) {
    throw new WeirError('SLOT_LOST', 'the slot ended while it was profiled', { cause: error })
  }
}
