import type { CommandIo } from './command.ts'

const WIDTH = 20
/** Columns that a rewritten line takes at most: a longer one would leave its first part on the screen. */
const MOST_COLUMNS = 79
const LINE_EVERY_MS = 2000

/** Progress of long work: a bar on a terminal, otherwise a plain line every two seconds. */
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

  /** Shows that `done` of `total` steps are finished; `note` describes the current state. */
  update(done: number, total: number, note = ''): void {
    const share = total === 0 ? 1 : Math.min(1, done / total)
    const text = `${this.label} ${(share * 100).toFixed(0).padStart(3)} % ${note}`
    if (this.io.rewriteLine !== undefined) {
      const filled = Math.round(share * WIDTH)
      const bar = `${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}`
      this.io.rewriteLine(`[${bar}] ${text}`.slice(0, MOST_COLUMNS))
      return
    }
    const now = this.nowMs()
    if (share < 1 && now - this.lastMs < LINE_EVERY_MS) return
    this.lastMs = now
    this.io.err(text)
  }

  /** Clears the bar. */
  finish(): void {
    this.io.rewriteLine?.('')
  }
}
