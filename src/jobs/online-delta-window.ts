import type { ByteSpan } from '../core/byte-span.ts'

/** When deltas that wait together are sent. */
export interface DeltaWindowOptions {
  /** Ratings that the waiting deltas come from. */
  readonly count: number
  /** The oldest waits at most this long, ms. */
  readonly intervalMs: number
}

/** What is sent of an item. */
export interface WindowedDelta {
  /** `<id>-I` */
  readonly key: ByteSpan
  readonly values: Float32Array
}

/**
 * Sums the deltas of each item until there are enough of them. Only rules whose deltas are steps can
 * be summed.
 */
export class DeltaWindow {
  private readonly count: number
  private readonly sums = new Map<string, WindowedDelta>()
  private ratings = 0

  constructor(options: DeltaWindowOptions) {
    this.count = options.count
  }

  /** Ratings whose deltas wait. */
  get waiting(): number {
    return this.ratings
  }

  /** Adds a delta; true when the window is full. */
  add({ bytes, start, length }: ByteSpan, values: Float32Array): boolean {
    const name = Buffer.from(bytes.buffer, bytes.byteOffset + start, length).toString('latin1')
    const sum = this.sums.get(name)
    if (sum === undefined) {
      const key = { bytes: bytes.slice(start, start + length), start: 0, length }
      this.sums.set(name, { key, values: values.slice() })
    } else for (let i = 0; i < values.length; i++) sum.values[i]! += values[i]!
    return ++this.ratings >= this.count
  }

  /** Hands out what waits, in the order in which the items came, and begins anew. */
  drain(send: (delta: WindowedDelta) => void): void {
    for (const delta of this.sums.values()) send(delta)
    this.sums.clear()
    this.ratings = 0
  }
}
