import { requireArgument } from './errors.ts'

/** Cancels what it was returned for; calling it twice is harmless. */
export type Cancel = () => void

/** The source of time, a parameter of everything that waits or measures. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. */
  nowMs(): number
  /**
   * Monotonic time in milliseconds, with a fraction, from an arbitrary zero that all threads of the
   * process share: setting the wall clock does not change it.
   */
  monotonicMs(): number
  /** Calls `callback` once after `delayMs`, soon if that is past, unless canceled. */
  after(delayMs: number, callback: () => void): Cancel
}

/** Looks at two clocks of which one is taken. */
const LOOKS = 200
/** A look that took less is as good as exact, ms. */
const EXACT_MS = 0.005

/**
 * What must be added to the time of one clock to get that of the other, ms. Between two looks at them the
 * thread may stand still for milliseconds, so this takes the shortest of many: its error is at most half
 * of what that one took.
 */
export function clockDistanceMs(clock: () => number, other: () => number): number {
  let distance = 0
  let shortest = Number.POSITIVE_INFINITY
  for (let look = 0; look < LOOKS && shortest > EXACT_MS; look++) {
    const before = other()
    const time = clock()
    const after = other()
    if (after - before >= shortest) continue
    shortest = after - before
    distance = (before + after) / 2 - time
  }
  return distance
}

/** `performance.now()` counts from the start of its thread: the distance to the clock that threads share. */
const SINCE_BOOT_MS = clockDistanceMs(
  () => performance.now(),
  () => Number(process.hrtime.bigint()) / 1e6,
)

/** The longest time that `setTimeout` can wait, ms: about 25 days. It calls at once for a longer one. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now() + SINCE_BOOT_MS,
  after(delayMs, callback) {
    if (delayMs > LONGEST_TIMEOUT_MS) return afterLong(delayMs, callback)
    const timer = setTimeout(callback, Math.max(0, delayMs))
    return () => clearTimeout(timer)
  },
}

/** As `after`, in several timeouts. */
function afterLong(delayMs: number, callback: () => void): Cancel {
  let cancel = systemClock.after(LONGEST_TIMEOUT_MS, () => {
    cancel = systemClock.after(delayMs - LONGEST_TIMEOUT_MS, callback)
  })
  return () => cancel()
}

/** Resolves after `delayMs` of `clock`. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  requireArgument(
    typeof clock?.after === 'function',
    'sleep(...) takes a clock, such as systemClock',
  )
  requireArgument(
    typeof delayMs === 'number' && !Number.isNaN(delayMs),
    `sleep(...) takes ms, a number, not ${String(delayMs)}`,
  )
  return new Promise((resolve) => {
    clock.after(delayMs, resolve)
  })
}

/** What `work` gives, or what `late` gives or throws when it has not settled after `delayMs` of `clock`: it then goes on. */
export function orAfter<T, L>(
  clock: Pick<Clock, 'after'>,
  delayMs: number,
  work: Promise<T>,
  late: () => L,
): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(delayMs, () => {
      try {
        resolve(late())
      } catch (error) {
        reject(error)
      }
    })
    work.then(
      (value) => {
        cancel()
        resolve(value)
      },
      (error) => {
        cancel()
        reject(error)
      },
    )
  })
}
