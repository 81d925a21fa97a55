import { SlotActivity } from '../../protocol/slot-activity.ts'
import { type SlotHost, type SlotListener, slotLost } from '../../protocol/slot-host.ts'
import type { MessagePortLike, SlotCommand, SlotReport } from '../../protocol/slot-messages.ts'
import type { SharedThread, SlotOfThread } from './thread-link.ts'

/** Which slot of an execution it is, and its agent in the thread. */
export interface SharedSlotOptions {
  readonly slot: number
  readonly agent: number
  readonly thread: SharedThread
  readonly listener: SlotListener
}

/** A slot of one execution in a thread that several executions share. `kill` ends the thread, and so all its slots. */
export class SharedSlot implements SlotHost, SlotOfThread {
  readonly remote = true
  readonly agent: number
  private readonly slot: number
  private readonly thread: SharedThread
  private readonly listener: SlotListener
  private activity: SlotActivity | undefined
  /** Steps of the other slots of the thread at the last heartbeat. */
  private stepsOfOthers = 0
  private ending = false

  constructor({ slot, agent, thread, listener }: SharedSlotOptions) {
    this.slot = slot
    this.agent = agent
    this.thread = thread
    this.listener = listener
  }

  get steps(): number {
    return this.activity?.steps(this.slot) ?? 0
  }

  send(command: SlotCommand, ports: readonly MessagePortLike[] = []): void {
    if (this.ending) return
    if (command.kind === 'deploy') this.activity = new SlotActivity(command.deployment.activity)
    this.thread.send(this.agent, command, ports)
    if (command.kind === 'ping') this.answerIfOthersAreBusy(command.attempt)
  }

  kill(): void {
    this.thread.kill()
  }

  async terminate(): Promise<void> {
    this.ending = true
    await this.thread.remove(this)
  }

  profile(durationMs: number): Promise<string> {
    return this.thread.profile(durationMs)
  }

  onReport(report: SlotReport): void {
    if (!this.ending) this.listener.report(report)
  }

  onLost(cause: unknown, isKilled: boolean): void {
    if (this.ending) return
    this.ending = true
    this.listener.lost(slotLost(this.slot, cause, isKilled))
  }

  /**
   * While another slot of the thread goes on in a long call, this one cannot answer, and is not lost for that: its
   * heartbeat is answered here.
   */
  private answerIfOthersAreBusy(attempt: number): void {
    const steps = this.thread.steps(this)
    if (steps !== this.stepsOfOthers) this.listener.report({ kind: 'pong', attempt })
    this.stepsOfOthers = steps
  }
}
