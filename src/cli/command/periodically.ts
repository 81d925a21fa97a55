import { type Clock, sleep, systemClock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { type CommandIo, InterruptedError, unlessInterrupted } from './command.ts'

/** When a task is repeated, and where its failures are reported. */
export interface Period {
  readonly seconds: number
  readonly io: CommandIo
  /** @default systemClock */
  readonly clock?: Clock
}

/**
 * Runs `task` now and then every `seconds`, from start to start, until Ctrl-C. A failure of the first run is
 * thrown, since a setting may be wrong; later ones are reported, and the next run tries again. Throws
 * InterruptedError at the end.
 */
export async function periodically(
  { seconds, io, clock = systemClock }: Period,
  task: () => Promise<void>,
): Promise<never> {
  for (let run = 1; ; run++) {
    const startMs = clock.monotonicMs()
    try {
      await task()
    } catch (error) {
      if (run === 1 || error instanceof InterruptedError) throw error
      io.err(`failed, and is tried again in ${seconds} s: ${messageOf(error)}`)
    }
    const leftMs = Math.max(0, seconds * 1000 - (clock.monotonicMs() - startMs))
    await unlessInterrupted(sleep(clock, leftMs), io)
  }
}
