import type { CommandIo } from './command.ts'

const WIDTH = 28
const LINE_EVERY_MS = 2000

/**
 * Shows how far long work is: a bar that is rewritten in place on a terminal, a plain line every two
 * seconds elsewhere.
 */
export class ProgressBar {
  private readonly io: CommandIo
  private readonly label: string
  private readonly nowMs: () => number
  private lastMs = Number.NEGATIVE_INFINITY

  constructor(io: CommandIo, label: string, nowMs: () => number) {
    this.io = io
    this.label = label
    this.nowMs = nowMs
  }

  /** `done` of `total`, with a word on the present state. */
  update(done: number, total: number, note = ''): void {
    const share = total === 0 ? 1 : Math.min(1, done / total)
    const text = `${this.label} ${(share * 100).toFixed(0).padStart(3)} % ${note}`
    if (this.io.rewriteLine !== undefined) {
      const filled = Math.round(share * WIDTH)
      const bar = `${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}`
      this.io.rewriteLine(`[${bar}] ${text}`)
      return
    }
    const now = this.nowMs()
    if (share < 1 && now - this.lastMs < LINE_EVERY_MS) return
    this.lastMs = now
    this.io.err(text)
  }

  /** Ends the line. */
  finish(): void {
    this.io.rewriteLine?.('')
  }
}
