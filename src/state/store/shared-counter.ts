/**
 * Counters in shared memory: one thread counts events, another may block until there is a new one.
 */

/** Counts one more event and wakes the waiting thread. */
export function advanceCounter(counters: Int32Array, at: number): void {
  Atomics.add(counters, at, 1)
  Atomics.notify(counters, at)
}

/**
 * Blocks until the counter is no longer `seen`; false when that takes more than `timeoutMs`. A wake-up
 * is no proof: the other thread may be preempted between counting and waking, so that this one sees
 * the count, asks for more and waits again before the late wake-up arrives.
 */
export function waitForCounter(
  counters: Int32Array,
  at: number,
  seen: number,
  timeoutMs: number,
): boolean {
  while (Atomics.load(counters, at) === seen) {
    if (Atomics.wait(counters, at, seen, timeoutMs) === 'timed-out') return false
  }
  return true
}
