import { WeirError } from '../../core/errors.ts'
import type { SlotHost, SlotListener } from '../protocol/slot-host.ts'
import type { SlotCommand, SlotReport } from '../protocol/slot-messages.ts'
import { SlotAgent, type SlotAgentOptions } from './agent.ts'

/** A slot in the calling thread: the same agent and the same messages, without a separate thread. */
export class LocalSlot implements SlotHost {
  readonly remote = false
  private readonly agent: SlotAgent
  private readonly slot: number
  private readonly listener: SlotListener
  private alive = true

  constructor(slot: number, options: Omit<SlotAgentOptions, 'report'>, listener: SlotListener) {
    this.slot = slot
    this.listener = listener
    this.agent = new SlotAgent({ ...options, report: (report) => this.deliver(report) })
  }

  send(command: SlotCommand): void {
    setImmediate(() => {
      if (this.alive) this.agent.handle(command)
    })
  }

  kill(): void {
    if (!this.alive) return
    this.alive = false
    this.agent.abandon()
    const error = new WeirError('SLOT_LOST', `slot ${this.slot} was killed`)
    setImmediate(() => this.listener.lost(error))
  }

  async terminate(): Promise<void> {
    this.alive = false
    this.agent.abandon()
  }

  private deliver(report: SlotReport): void {
    setImmediate(() => {
      if (this.alive) this.listener.report(report)
    })
  }
}
