/** Asynchronous calls that run one after the other, each after the one before has settled. */
export class CallSequence {
  private readonly wake: () => void
  private pending = 0
  /** Calls that run or wait, and that input waits for. */
  private suspending = 0
  private last: Promise<void> = Promise.resolve()

  /** `wake`: called when a call that input waits for has settled. */
  constructor(wake: () => void = () => {}) {
    this.wake = wake
  }

  /** Whether no call runs or waits. */
  get idle(): boolean {
    return this.pending === 0
  }

  /** Whether input waits. */
  get suspendsInput(): boolean {
    return this.suspending > 0
  }

  /** Calls when every earlier call has settled; settles as the call does. Input continues. */
  run<T>(call: () => Promise<T>): Promise<T> {
    this.pending += 1
    const result = this.last.then(call)
    const settle = (): void => {
      this.pending -= 1
    }
    this.last = result.then(settle, settle)
    return result
  }

  /** As `run`, but input waits until the call has settled. */
  async suspendWhile<T>(call: () => Promise<T>): Promise<T> {
    this.suspending += 1
    try {
      return await this.run(call)
    } finally {
      this.suspending -= 1
      this.wake()
    }
  }

  /** Calls at once if no call runs, otherwise after the last one, for which input then waits. */
  whenFree(call: () => void): void {
    if (this.idle) call()
    else void this.suspendWhile(async () => call())
  }
}
