import { HEADER } from './layout.ts'

/** Looks at a taken lock before the thread sleeps. */
const SPINS = 200
/** Longest sleep, ms: the holder may have ended without waking anyone. */
const SLEEP_MS = 1

/** Takes the lock if it is free. */
export function tryLock(words: Int32Array, holder: number): boolean {
  return Atomics.compareExchange(words, HEADER.lock, 0, holder + 1) === 0
}

/**
 * Takes the lock; blocks the thread until then. For workers only: the supervisor takes the lock away from a
 * worker that ended, so a thread that supervises must not wait here.
 */
export function lock(words: Int32Array, holder: number): void {
  for (let spin = 0; spin < SPINS; spin++) if (tryLock(words, holder)) return
  Atomics.add(words, HEADER.contended, 1)
  while (!tryLock(words, holder)) {
    const seen = Atomics.load(words, HEADER.lock)
    if (seen !== 0) Atomics.wait(words, HEADER.lock, seen, SLEEP_MS)
  }
  Atomics.sub(words, HEADER.contended, 1)
}

/** Gives the lock back. */
export function unlock(words: Int32Array): void {
  Atomics.store(words, HEADER.lock, 0)
  if (Atomics.load(words, HEADER.contended) > 0) Atomics.notify(words, HEADER.lock, 1)
}

/** Takes the lock over from a holder that ended. False when that one does not hold it. */
export function takeOver(words: Int32Array, ended: number, holder: number): boolean {
  return Atomics.compareExchange(words, HEADER.lock, ended + 1, holder + 1) === ended + 1
}
