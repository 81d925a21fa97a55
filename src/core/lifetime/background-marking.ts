/** Above V8's limit for memory outside its heap, which makes it start a collection. Never touched, so never resident. */
const PRESSURE_BYTES = 128 * 1024 * 1024

/**
 * Lets V8 collect the calling thread's heap in the background, without a long pause: an array buffer counts as memory of the
 * thread, and a large one makes V8 mark. A marking that has begun before keeps what was dropped since.
 */
export function markInBackground(): void {
  try {
    new ArrayBuffer(PRESSURE_BYTES)
  } catch {
    // Where there is no address space left, V8 has collected before it failed.
  }
}
