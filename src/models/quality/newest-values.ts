import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { requireArgument } from '../../core/errors.ts'
import { alternation } from './alternation.ts'

/**
 * The newest numbers of a stream, such as losses, as float32. In a checkpoint:
 *
 *   | sum float64 | place of the next u32 | count u32 | float32 x count, oldest first |
 */
export class NewestValues {
  private readonly values: Float32Array
  private count = 0
  private next = 0
  private sum = 0

  /** `length`: values in a full window. Throws INVALID_ARGUMENT. */
  constructor(length: number) {
    requireArgument(Number.isSafeInteger(length) && length > 0, 'window is a whole number from 1')
    this.values = new Float32Array(length)
  }

  /** Mean of the newest numbers; NaN before the first. */
  get mean(): number {
    return this.sum / this.count
  }

  add(value: number): void {
    const { values, next } = this
    this.sum -= values[next]!
    values[next] = value
    this.sum += values[next]!
    if (this.count < values.length) this.count++
    this.next = next + 1 === values.length ? 0 : next + 1
    // Rounding errors must not accumulate over years.
    if (this.next === 0) this.sum = values.reduce((total, each) => total + each, 0)
  }

  /** Fills an empty window with the mean of a stream whose numbers are not known. */
  fill(mean: number, count: number): void {
    this.place(new Float32Array(Math.min(count, this.values.length)).fill(mean), 0)
  }

  write(writer: ByteWriter): void {
    const { count, next } = this
    writer.float64(this.sum)
    writer.uint32(next)
    writer.uint32(count)
    for (const value of this.newest()) writer.float32(value)
  }

  /**
   * Adds a window of `write`. Two windows that do not fit into one give their newest values, in proportion to the
   * streams that they are of; `share`: the part of the stream of this one, 0 to 1. The values alternate as if both
   * streams had been one.
   */
  join(reader: ByteReader, share: number): void {
    const sum = reader.float64()
    const next = reader.uint32()
    const other = Float32Array.from({ length: reader.uint32() }, () => reader.float32())
    if (this.count === 0) {
      this.place(other.slice(-this.values.length), next)
      if (other.length <= this.values.length) this.sum = sum
      return
    }
    const room = this.values.length
    const wanted = Math.round(room * share)
    const own = Math.min(this.count, Math.max(wanted, room - other.length))
    const rest = Math.min(other.length, room - own)
    this.place(alternating(this.newest(own), other.slice(other.length - rest)), 0)
  }

  /** The newest `count` numbers, oldest first; all of them by default. */
  newest(count: number = this.count): Float32Array {
    const { values, next } = this
    const first = next - count + values.length
    return Float32Array.from({ length: count }, (_, i) => values[(first + i) % values.length]!)
  }

  /** Replaces the numbers; the next one comes after them, at `next` where they fill the window. */
  private place(given: Float32Array, next: number): void {
    const { values } = this
    const first = given.length === values.length && next < values.length ? next : 0
    values.fill(0)
    for (const [i, value] of given.entries()) values[(first + i) % values.length] = value
    this.count = given.length
    this.next = (first + given.length) % values.length
    this.sum = values.reduce((total, each) => total + each, 0)
  }
}

function alternating(a: Float32Array, b: Float32Array): Float32Array {
  let [i, j] = [0, 0]
  return Float32Array.from(alternation(a.length, b.length), (isOfA) => (isOfA ? a[i++]! : b[j++]!))
}
