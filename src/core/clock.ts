/** Cancels what it was returned for; calling it twice is harmless. */
export type Cancel = () => void

/** The source of time, a parameter of everything that waits or measures. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. */
  nowMs(): number
  /** Monotonic time in milliseconds, with a fraction, from an arbitrary zero. */
  monotonicMs(): number
  /** Calls `callback` once after `delayMs`, soon if that is past, unless canceled. */
  after(delayMs: number, callback: () => void): Cancel
}

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.max(0, delayMs))
    return () => clearTimeout(timer)
  },
}

/** Resolves after `delayMs` of `clock`. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve)
  })
}
