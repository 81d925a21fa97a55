import { availableParallelism } from 'node:os'
import type { Lender, Pooled } from './pool.ts'

/** Files that may run at a time, however idle the cores are. */
export const MOST_FILES = availableParallelism() + 2
/** Files that run at any time. */
const ALWAYS = 2
/** Share of the cores whose idleness lets one more file start. */
const IDLE_SHARE = 0.2

/** A place is no service: a file that has one has nothing to know. */
const PLACE: Pooled = { access: {}, clear: async () => undefined, stop: async () => undefined }

/**
 * Places for test files, given in turn. Two files run at any time, and another one starts where the cores were idle:
 * a file that waits for a server or a timeout leaves its share to it.
 */
export class CorePlaces implements Lender {
  private readonly most: number
  private readonly waiting: ((place: Pooled) => void)[] = []
  private running = 0

  constructor(most: number) {
    this.most = most
  }

  async take(): Promise<Pooled> {
    const turn = new Promise<Pooled>((resolve) => this.waiting.push(resolve))
    if (this.running < ALWAYS) this.startNext()
    return await turn
  }

  async giveBack(): Promise<void> {
    this.running--
    if (this.running < ALWAYS) this.startNext()
  }

  /** Starts one more file where this share of the cores was idle since the last look. */
  look(idleShare: number): void {
    if (idleShare >= IDLE_SHARE && this.running < this.most) this.startNext()
  }

  /** Does nothing: places end with the files that have them. */
  async stop(): Promise<void> {}

  private startNext(): void {
    const next = this.waiting.shift()
    if (next === undefined) return
    this.running++
    next(PLACE)
  }
}
