/** Whether work has the machine for itself, or shares it with other work that shares it. */
export type Turn = 'alone' | 'shared'

/** A piece of work that waits. */
interface Waiting {
  readonly turn: Turn
  readonly begin: () => void
}

/** Turns of a machine, in the order in which they are asked for: work that shares runs together, other work alone. */
export class Turns {
  private readonly waiting: Waiting[] = []
  private running = 0
  private isAlone = false

  /** Runs work when it is its turn. */
  async take<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.waiting.push({ turn, begin: resolve })
    this.next()
    await promise
    try {
      return await work()
    } finally {
      this.running -= 1
      this.next()
    }
  }

  private next(): void {
    for (;;) {
      const [first] = this.waiting
      if (first === undefined || !this.mayBegin(first.turn)) return
      this.waiting.shift()
      this.running += 1
      this.isAlone = first.turn === 'alone'
      first.begin()
    }
  }

  private mayBegin(turn: Turn): boolean {
    return this.running === 0 || (turn === 'shared' && !this.isAlone)
  }
}
