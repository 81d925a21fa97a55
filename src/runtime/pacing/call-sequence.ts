/** Asynchronous calls that run one after the other, each after the one before has settled. */
export class CallSequence {
  private pending = 0
  private last: Promise<void> = Promise.resolve()

  /** Whether no call runs or waits. */
  get idle(): boolean {
    return this.pending === 0
  }

  /** Calls when every earlier call has settled; settles as the call does. */
  run<T>(call: () => Promise<T>): Promise<T> {
    this.pending += 1
    const result = this.last.then(call)
    const settle = (): void => {
      this.pending -= 1
    }
    this.last = result.then(settle, settle)
    return result
  }
}
