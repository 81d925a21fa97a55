/** Smaller buffers are not kept, unless a pool says otherwise. */
const LEAST_BYTES = 4096
/** Most bytes of buffers that are kept. */
const MOST_BYTES = 8 * 1024 * 1024

/**
 * Buffers that are used again. What lies outside of the heap counts in V8 as growth of the old generation until it is
 * collected: clients that send thousands of frames and leave would otherwise make the collector look through the whole
 * heap every few hundred milliseconds (docs/decisions/fairness.md#what-a-client-waits-for).
 */
export class LargeBuffers {
  /** Free buffers by the logarithm of their size. */
  private readonly free: Uint8Array<ArrayBuffer>[][] = []
  private freeBytes = 0
  private readonly leastBytes: number

  /** `leastBytes`: smaller buffers are not kept. */
  constructor(leastBytes: number = LEAST_BYTES) {
    this.leastBytes = leastBytes
  }

  /** A buffer of at least `bytes`; what it holds is undefined. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes < this.leastBytes) return new Uint8Array(bytes)
    const size = 2 ** Math.ceil(Math.log2(bytes))
    const buffer = this.free[Math.log2(size)]?.pop()
    if (buffer === undefined) return new Uint8Array(size)
    this.freeBytes -= size
    return buffer
  }

  /** Takes a buffer back, which no one may use any more. */
  give(buffer: Uint8Array<ArrayBuffer>): void {
    const { length } = buffer
    const isKept = length >= this.leastBytes && (length & (length - 1)) === 0
    if (!isKept || this.freeBytes + length > MOST_BYTES) return
    const size = Math.log2(length)
    const free = this.free[size]
    if (free === undefined) this.free[size] = [buffer]
    else free.push(buffer)
    this.freeBytes += length
  }
}

/** The buffers that this thread's connections use again. */
export const largeBuffers = new LargeBuffers()
