/** Least bytes by which the memory grows. */
const GROWTH_BYTES = 256 * 1024

/**
 * Bytes of a body that is not whole, in memory of their own: pages that the system gets back at once. Chunks of a socket
 * are parts of a heap, which keeps them for a later use when a thousand clients have left.
 */
export class StagedBytes {
  private readonly memory: ArrayBuffer
  private length = 0

  /** `most`: bytes that it may hold. */
  constructor(most: number) {
    this.memory = new ArrayBuffer(0, { maxByteLength: most })
  }

  /** Adds a copy of a chunk; false if it does not fit. */
  add(chunk: Uint8Array): boolean {
    const { memory, length } = this
    const needed = length + chunk.length
    if (needed > memory.maxByteLength) return false
    if (needed > memory.byteLength) {
      const grown = Math.max(needed, length + GROWTH_BYTES, length * 1.25)
      memory.resize(Math.min(memory.maxByteLength, Math.ceil(grown)))
    }
    new Uint8Array(memory, length, chunk.length).set(chunk)
    this.length = needed
    return true
  }

  /** The bytes, in place: valid until they are given back. */
  get bytes(): Buffer {
    return Buffer.from(this.memory, 0, this.length)
  }

  /** Gives the memory back. */
  release(): void {
    this.length = 0
    this.memory.resize(0)
  }
}
