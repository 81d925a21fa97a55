import type { Clock } from '../../../core/clock.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { JobModule } from '../../../dataflow/job/module.ts'
import type { MessagePortLike, SlotCommand, SlotReport } from '../../protocol/slot-messages.ts'
import { profileThread } from '../worker-slot.ts'
import type { SharedThreadCommand, SharedThreadReport } from './messages.ts'
import type { SharedWorker } from './worker.ts'

/** A slot of a shared thread, as the thread sees it. */
export interface SlotOfThread {
  /** Number of its agent. */
  readonly agent: number
  /** A number that changes while the slot goes on in a long call. */
  readonly steps: number
  onReport(report: SlotReport): void
  /** The thread is gone. */
  onLost(cause: unknown, isKilled: boolean): void
}

/**
 * Longest time, ms, until a thread has removed an agent. A thread that takes longer answers nothing to anyone; it is
 * ended, so that nothing of the removed agent goes on.
 */
const REMOVE_TIMEOUT_MS = 10_000

/** One slot thread that slots of several executions share, seen from the main thread. */
export class SharedThread {
  private readonly worker: SharedWorker
  private readonly clock: Clock
  private readonly slots = new Map<number, SlotOfThread>()
  private readonly removals = new Map<number, () => void>()
  /** Since when a question of `silenceMs` has no answer, and the steps of the slots at that time. */
  private asked: { readonly sinceMs: number; readonly steps: number } | undefined
  private isKilled = false
  private over = false

  constructor(worker: SharedWorker, clock: Clock) {
    this.worker = worker
    this.clock = clock
    worker.on('message', (message: SharedThreadReport) => {
      if (message.kind === 'report') this.slots.get(message.agent)?.onReport(message.report)
      else if (message.kind === 'answer') this.asked = undefined
      else this.removals.get(message.agent)?.()
    })
    worker.on('error', (error) => this.end(error))
    worker.on('exit', (code) => this.end(new Error(`its thread ended with code ${code}`)))
  }

  /** Number of slots that run in the thread. */
  get load(): number {
    return this.slots.size
  }

  /** Whether the thread takes no more slots: it has ended, or is about to. */
  get isOver(): boolean {
    return this.over || this.isKilled
  }

  add(slot: SlotOfThread, job: JobModule): void {
    this.slots.set(slot.agent, slot)
    this.post({ kind: 'add', agent: slot.agent, job })
  }

  send(agent: number, command: SlotCommand, ports: readonly MessagePortLike[]): void {
    this.post({ kind: 'command', agent, command }, ports)
  }

  /** Resolves when the thread has nothing of the slot any more, or has ended. */
  async remove({ agent }: SlotOfThread): Promise<void> {
    if (!this.slots.delete(agent) || this.over) return
    await new Promise<void>((resolve) => {
      let cancel = this.clock.after(REMOVE_TIMEOUT_MS, () => late())
      let steps = this.steps()
      const late = (): void => {
        const now = this.steps()
        // In a long call of another slot the thread takes no messages, and is not stuck.
        if (now === steps) this.kill()
        steps = now
        cancel = this.clock.after(REMOVE_TIMEOUT_MS, () => late())
      }
      this.removals.set(agent, () => {
        cancel()
        this.removals.delete(agent)
        resolve()
      })
      this.post({ kind: 'remove', agent })
    })
  }

  /**
   * Asks the thread whether its event loop turns. Returns for how long an earlier question has no answer, ms; 0 while a
   * slot goes on in a long call, and of a thread that has ended.
   */
  silenceMs(): number {
    if (this.over) return 0
    const nowMs = this.clock.monotonicMs()
    const steps = this.steps()
    if (this.asked === undefined) this.post({ kind: 'ask' })
    if (this.asked?.steps !== steps) this.asked = { sinceMs: nowMs, steps }
    return nowMs - this.asked.sinceMs
  }

  /** A number that changes while a slot of the thread goes on in a long call. */
  steps(except?: SlotOfThread): number {
    let sum = 0
    for (const slot of this.slots.values()) if (slot !== except) sum += slot.steps
    return sum
  }

  /** Ends the thread abruptly: all its slots are lost. */
  kill(): void {
    this.isKilled = true
    void this.worker.terminate()
  }

  /** Ends the thread for good; no loss is reported. */
  async terminate(): Promise<void> {
    this.slots.clear()
    await this.worker.terminate()
  }

  /** See `SlotHost.profile`: what all slots of the thread compute. */
  profile(durationMs: number): Promise<string> {
    return profileThread(this.worker, durationMs)
  }

  /** The size of the heap, and the number of slots; nothing of a thread that does not run. */
  async metrics(): Promise<MetricSnapshot> {
    if (this.isOver) return {}
    try {
      const heap = await this.worker.getHeapStatistics()
      return {
        slots: this.load,
        heapUsedBytes: heap.used_heap_size,
        heapCommittedBytes: heap.total_heap_size,
        heapMaxBytes: heap.heap_size_limit,
      }
    } catch {
      // The thread does not run yet, or ends meanwhile.
      return {}
    }
  }

  private post(command: SharedThreadCommand, ports: readonly MessagePortLike[] = []): void {
    if (!this.over) this.worker.postMessage(command, ports)
  }

  private end(cause: unknown): void {
    if (this.over) return
    this.over = true
    for (const removed of [...this.removals.values()]) removed()
    const lost = [...this.slots.values()]
    this.slots.clear()
    for (const slot of lost) slot.onLost(cause, this.isKilled)
  }
}
