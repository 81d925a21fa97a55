import type { OperatorTask } from './operator-task.ts'

/** The subtask whose input the gates hold back, as the gates see it. */
export interface GatesHost {
  wake(): void
  fail(error: unknown): void
}

/**
 * The places where records of a subtask may have to wait: sinks that are full, and keyed state whose
 * spilled entries are still being written to checkpoint storage.
 */
export class Gates {
  /** Whether the subtask waits at one of them. */
  closed = false
  private readonly host: GatesHost
  private readonly sinks: OperatorTask[] = []
  private readonly keyed: OperatorTask[] = []
  /** Whether nothing may pass, whatever is ready. */
  private held = false

  constructor(host: GatesHost) {
    this.host = host
  }

  /** Whether the chain has sinks that may be full. */
  get hasSinks(): boolean {
    return this.sinks.length > 0
  }

  /** Adds the gates of an operator. */
  add(task: OperatorTask): void {
    if (task.gated) this.sinks.push(task)
    if (task.keyedState !== undefined) this.keyed.push(task)
  }

  /** Whether records may be processed now; if not, wakes the subtask when they may. Runs once a record. */
  open(): boolean {
    if (this.closed) return false
    const { sinks, keyed } = this
    for (let i = 0; i < sinks.length; i++) {
      const { operator } = sinks[i]!
      if (!operator.ready!()) return this.waitFor(operator.whenReady!())
    }
    for (let i = 0; i < keyed.length; i++) {
      const { keyedState } = keyed[i]!
      if (!keyedState!.ready()) return this.waitFor(keyedState!.whenReady())
    }
    return true
  }

  /** Lets nothing pass until `letGo`: no records, timers or results. */
  hold(): void {
    this.held = true
    this.closed = true
  }

  /** Ends a `hold`; nothing without one. */
  letGo(): void {
    if (!this.held) return
    this.held = false
    this.closed = false
    this.host.wake()
  }

  private waitFor(opened: Promise<void>): false {
    this.closed = true
    const open = (): void => {
      this.closed = this.held
      this.host.wake()
    }
    opened.then(open, (error) => {
      open()
      this.host.fail(error)
    })
    return false
  }
}
