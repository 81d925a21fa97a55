/** Smaller chunks are left to the collector: it is cheaper. */
const LEAST_BYTES = 4096

/**
 * Gives the memory of a chunk back that no one uses any more. V8 would first let tens of MiB of chunks gather, and leave holes
 * in the heap of the process that no one gets back. A chunk that is a part of a larger buffer stays.
 */
export function giveChunk({ buffer, byteLength }: Uint8Array): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
  if (isWhole && byteLength >= LEAST_BYTES) buffer.transfer(0)
}
