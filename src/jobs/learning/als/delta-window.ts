import type { ByteSpan } from '../../../core/byte-span.ts'
import { latin1Of } from '../../../core/text/latin1.ts'

/** Options of a window. */
export interface DeltaWindowOptions {
  /** The window is full with the deltas of so many ratings. */
  readonly count: number
  /** A delta waits at most this long, ms. */
  readonly intervalMs: number
}

/** The sum of an item's deltas. */
export interface WindowedDelta {
  /** `<id>-I` */
  readonly key: ByteSpan
  readonly values: Float32Array
}

/**
 * Sums the deltas of each item. Only deltas of kind `step` can be summed.
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
    const name = latin1Of(bytes, length, start)
    const sum = this.sums.get(name)
    if (sum === undefined) {
      const key = { bytes: bytes.slice(start, start + length), start: 0, length }
      this.sums.set(name, { key, values: values.slice() })
    } else for (let i = 0; i < values.length; i++) sum.values[i]! += values[i]!
    return ++this.ratings >= this.count
  }

  /** Hands out the sums in the order in which their items came, and empties the window. */
  drain(send: (delta: WindowedDelta) => void): void {
    for (const delta of this.sums.values()) send(delta)
    this.sums.clear()
    this.ratings = 0
  }
}
