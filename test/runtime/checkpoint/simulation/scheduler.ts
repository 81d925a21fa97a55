import type { Random } from '../../../../src/core/random.ts'

/** Runs pending actions in an order that only the seed determines. */
export class SeededScheduler {
  private readonly random: Random
  private pending: (() => void)[] = []

  constructor(random: Random) {
    this.random = random
  }

  /** Resolves when its turn comes. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.pending.push(resolve))
  }

  /** Calls `action` when its turn comes. */
  later(action: () => void): void {
    this.pending.push(action)
  }

  /** Runs one pending action with everything that follows from it at once; false when there is none. */
  async step(): Promise<boolean> {
    const index = this.random.below(Math.max(1, this.pending.length))
    const action = this.pending[index]
    if (action !== undefined) {
      this.pending.splice(index, 1)
      action()
    }
    // A macrotask: every promise that can settle has settled.
    await new Promise((resolve) => setImmediate(resolve))
    return action !== undefined
  }
}
