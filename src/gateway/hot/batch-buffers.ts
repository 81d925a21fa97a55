import { LargeBuffers } from '../../core/lifetime/large-buffers.ts'

/** Smaller buffers cost less than keeping them. */
const LEAST_BYTES = 2048

const buffers = new LargeBuffers(LEAST_BYTES)

/**
 * A buffer of at least `bytes` for a batch or its answer, of those that the thread uses again. A batch of 256
 * pairs needs 30 kB in all, and memory outside of the heap makes the collector look through the whole heap every
 * few thousand batches.
 */
export function takeBuffer(bytes: number): Uint8Array<ArrayBuffer> {
  return buffers.take(bytes)
}

/** Takes back a buffer of `takeBuffer`, by any view of it; no one may use it any more. */
export function giveBuffer(view: Uint8Array): void {
  buffers.give(new Uint8Array(view.buffer as ArrayBuffer))
}
