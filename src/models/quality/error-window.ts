import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { requireArgument } from '../../core/errors.ts'
import { alternation } from './alternation.ts'

/**
 * The newest losses of a stream, as float32. In a checkpoint:
 *
 *   | sum float64 | place of the next u32 | count u32 | float32 x count, oldest first |
 */
export class ErrorWindow {
  private readonly losses: Float32Array
  private count = 0
  private next = 0
  private sum = 0

  /** `length`: losses in a full window. Throws INVALID_ARGUMENT. */
  constructor(length: number) {
    requireArgument(Number.isSafeInteger(length) && length > 0, 'window is a whole number from 1')
    this.losses = new Float32Array(length)
  }

  /** Mean of the losses in the window; NaN before the first. */
  get mean(): number {
    return this.sum / this.count
  }

  add(loss: number): void {
    const { losses, next } = this
    this.sum -= losses[next]!
    losses[next] = loss
    this.sum += losses[next]!
    if (this.count < losses.length) this.count++
    this.next = next + 1 === losses.length ? 0 : next + 1
    // Rounding errors must not accumulate over years.
    if (this.next === 0) this.sum = losses.reduce((total, each) => total + each, 0)
  }

  /** Fills an empty window with the mean of a stream whose losses are not known. */
  fill(mean: number, count: number): void {
    this.place(new Float32Array(Math.min(count, this.losses.length)).fill(mean), 0)
  }

  write(writer: ByteWriter): void {
    const { count, next } = this
    writer.float64(this.sum)
    writer.uint32(next)
    writer.uint32(count)
    for (const loss of this.newest(count)) writer.float32(loss)
  }

  /**
   * Adds a window of `write`. Two windows that do not fit into one give their newest losses, in proportion to the streams that
   * they are of; `share`: the part of the stream of this one, 0 to 1. The losses alternate as if both streams had been one.
   */
  join(reader: ByteReader, share: number): void {
    const sum = reader.float64()
    const next = reader.uint32()
    const other = Float32Array.from({ length: reader.uint32() }, () => reader.float32())
    if (this.count === 0) {
      this.place(other.slice(-this.losses.length), next)
      if (other.length <= this.losses.length) this.sum = sum
      return
    }
    const room = this.losses.length
    const wanted = Math.round(room * share)
    const own = Math.min(this.count, Math.max(wanted, room - other.length))
    const rest = Math.min(other.length, room - own)
    this.place(alternating(this.newest(own), other.slice(other.length - rest)), 0)
  }

  private newest(count: number): Float32Array {
    const { losses, next } = this
    const first = next - count + losses.length
    return Float32Array.from({ length: count }, (_, i) => losses[(first + i) % losses.length]!)
  }

  /** Replaces the losses; the next one comes after them, at `next` where the window is full. */
  private place(values: Float32Array, next: number): void {
    const { losses } = this
    const isFull = values.length === losses.length
    const first = isFull && next < losses.length ? next : 0
    losses.fill(0)
    for (const [i, value] of values.entries()) losses[(first + i) % losses.length] = value
    this.count = values.length
    this.next = (first + values.length) % losses.length
    this.sum = losses.reduce((total, each) => total + each, 0)
  }
}

function alternating(a: Float32Array, b: Float32Array): Float32Array {
  let [i, j] = [0, 0]
  return Float32Array.from(alternation(a.length, b.length), (isOfA) => (isOfA ? a[i++]! : b[j++]!))
}
