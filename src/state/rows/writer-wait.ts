/** Longest wait for a writer, ms: one that has not gone on by then has ended, and its job restarts. */
const MOST_SLEEPS = 200
const SLEEP_MS = 1

/**
 * Waits for the writer of a row that was in the middle of a write in every attempt to read it (`STUCK`): the system has
 * stopped its thread, or it moves the index. For threads that must not go on without the row; those that answer requests
 * ask the slot instead. Not for a thread that is itself in a write.
 */
export class WriterWait {
  private readonly word = new Int32Array(new SharedArrayBuffer(4))
  private sleeps = 0

  /** Blocks the thread for a moment, so that the writer can run; false when it has waited long enough. */
  sleep(): boolean {
    if (this.sleeps === MOST_SLEEPS) return false
    this.sleeps++
    Atomics.wait(this.word, 0, 0, SLEEP_MS)
    return true
  }
}
