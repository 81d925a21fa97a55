import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { waiting } from './waits.ts'

/** Name of the variable with the ms after which {@link until} gives up: less than a test may take. */
export const PATIENCE_VARIABLE = 'TEST_PATIENCE_MS'

/**
 * Longest time that a test may block its thread, ms, as for a program that runs meanwhile: no limit of a test ends such
 * a wait.
 */
export const LONGEST_BLOCK_MS = 180_000

/** How much longer than a look the time to the next one is, and the most that a look alone makes: longer ones mostly wait. */
const RESTS_PER_LOOK = 3
const MOST_REST_MS = 300
/** Share of the time that a condition was waited for after which the next look comes, and the longest such time. */
const LATER_SHARE = 0.05
const MOST_LATER_MS = 100

/** Options of {@link until}. */
export interface UntilOptions {
  /** @default as long as the tests of the project may wait: 15 s in unit tests, else 180 s */
  readonly timeoutMs?: number
  /**
   * Time between two looks, at least three times as long as a look of up to 100 ms takes; with 0 there is one in each turn of
   * the event loop. @default 5 ms, and more the longer it takes: a twentieth of the time so far, up to 100 ms
   */
  readonly everyMs?: number
}

/**
 * Waits until a condition holds: not false, undefined or null. Returns what the condition returned. Throws with
 * `what`, or its result, when it does not hold in time.
 */
export function until<T>(
  what: string | (() => string),
  condition: () => T | Promise<T>,
  { timeoutMs = patienceMs(), everyMs }: UntilOptions = {},
): Promise<NonNullable<Exclude<T, false>>> {
  return waiting('condition', async () => {
    const sinceMs = performance.now()
    const giveUpAt = sinceMs + timeoutMs
    let lookMs = 0
    // A look takes a core, most of all one that is a command: what is waited for needs one, too.
    const restMs = () => Math.min(RESTS_PER_LOOK * lookMs, MOST_REST_MS)
    const laterMs = () => Math.min((performance.now() - sinceMs) * LATER_SHARE, MOST_LATER_MS)
    const next = () =>
      everyMs === 0 ? turn() : sleep(Math.max(everyMs ?? Math.max(5, laterMs()), restMs()))
    for (; ; await next()) {
      const startMs = performance.now()
      const found = await condition()
      lookMs = performance.now() - startMs
      if (found !== false && found !== undefined && found !== null) {
        return found as NonNullable<Exclude<T, false>>
      }
      if (performance.now() > giveUpAt) {
        const told = typeof what === 'string' ? what : what()
        throw new Error(`not within ${timeoutMs} ms: ${told}`)
      }
    }
  })
}

/** Waits until a check throws nothing, such as one with `expect`. Throws its last error when it does not pass in time. */
export async function untilPasses(check: () => unknown): Promise<void> {
  let last: unknown
  const passes = async (): Promise<boolean> => {
    try {
      await check()
      return true
    } catch (error) {
      last = error
      return false
    }
  }
  await until('the check passes', passes, { everyMs: 20 }).catch(() => Promise.reject(last))
}

const patienceMs = (): number => Number(process.env[PATIENCE_VARIABLE] ?? 180_000)
