import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { waiting } from './waits.ts'

/** Name of the variable with the ms after which {@link until} gives up: less than a test may take. */
export const PATIENCE_VARIABLE = 'TEST_PATIENCE_MS'

/** Longest time between two looks that a look alone makes: those that take longer mostly wait. */
const MOST_REST_MS = 100

/** Options of {@link until}. */
export interface UntilOptions {
  /** @default as long as the tests of the project may wait: 15 s in unit tests, else 180 s */
  readonly timeoutMs?: number
  /**
   * Time between two looks, at least as long as a look of up to 100 ms takes; with 0 there is one in each turn of the event
   * loop. @default 5 ms
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
  { timeoutMs = patienceMs(), everyMs = 5 }: UntilOptions = {},
): Promise<NonNullable<Exclude<T, false>>> {
  return waiting('condition', async () => {
    let lookMs = 0
    // A look that is a command takes a core: what is waited for needs one, too.
    const next = () =>
      everyMs === 0 ? turn() : sleep(Math.max(everyMs, Math.min(lookMs, MOST_REST_MS)))
    for (const giveUpAt = performance.now() + timeoutMs; ; await next()) {
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
