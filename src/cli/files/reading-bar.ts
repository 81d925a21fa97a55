import { systemClock } from '../../core/clock.ts'
import type { CommandIo } from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'

/** Time after which reading is shown: what takes less needs no bar. */
const SHOWN_AFTER_MS = 500

/** How much of some files is read. */
export interface ReadingProgress {
  /** Gets the bytes that are read, of all files together, and their number. */
  onRead(done: number, total: number): void
}

/** A bar for reading and preparing input files; `finish` clears it. */
export class ReadingBar implements ReadingProgress {
  private readonly bar: ProgressBar
  private readonly startMs = systemClock.monotonicMs()

  constructor(io: CommandIo, label = 'reading') {
    this.bar = new ProgressBar(io, label, () => systemClock.monotonicMs())
  }

  onRead(done: number, total: number): void {
    if (systemClock.monotonicMs() - this.startMs >= SHOWN_AFTER_MS) this.bar.update(done, total)
  }

  finish(): void {
    this.bar.finish()
  }
}
