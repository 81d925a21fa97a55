/** Smaller buffers are not kept, unless a pool says otherwise. */
const LEAST_BYTES = 64 * 1024
/** Most bytes of buffers that are kept. */
const MOST_BYTES = 8 * 1024 * 1024

/**
 * Large buffers that are used again. Clients that send a large frame and leave would otherwise make megabytes
 * of garbage each, and the collector stops the thread for milliseconds after every few dozen of them.
 */
export class LargeBuffers {
  private readonly free: Uint8Array<ArrayBuffer>[] = []
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
    const at = this.free.findIndex((one) => one.length === size)
    if (at < 0) return new Uint8Array(size)
    const [buffer] = this.free.splice(at, 1)
    this.freeBytes -= size
    return buffer!
  }

  /** Takes a buffer back, which no one may use any more. */
  give(buffer: Uint8Array<ArrayBuffer>): void {
    const { length } = buffer
    const isKept = length >= this.leastBytes && (length & (length - 1)) === 0
    if (!isKept || this.freeBytes + length > MOST_BYTES) return
    this.free.push(buffer)
    this.freeBytes += length
  }
}

/** The large buffers of this thread's connections. */
export const largeBuffers = new LargeBuffers()
