import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'

const DAY_MS = 86_400_000
/** A constant, and two waves of the time of the day, each of a cosine and a sine. */
const TERMS = 5
/** Batches that say that a wave is flat: few batches make no wave. */
const FLAT = 16
/** Batches before the first expectation. */
const LEAST = 4

/**
 * The error that is expected of a batch, from those before it: their mean, and after a day a curve over the time of the day,
 * a least-squares fit of two waves (a harmonic regression). So an error that is higher each evening is no rise. Sums are kept, so
 * that references of several streams join.
 *
 * In a checkpoint: `| batches f64 | first f64 | last f64 | products f64 x 25 | sums f64 x 5 |`.
 */
export class ErrorReference {
  private batches = 0
  /** Times of the first and the last batch, ms since 1970. */
  private first = Number.POSITIVE_INFINITY
  private last = Number.NEGATIVE_INFINITY
  private readonly products = new Float64Array(TERMS * TERMS)
  private readonly sums = new Float64Array(TERMS)
  private readonly terms = new Float64Array(TERMS)

  /** Batches so far. */
  get count(): number {
    return this.batches
  }

  /** Whether a day of batches has a curve. */
  get knowsDay(): boolean {
    return this.last - this.first >= DAY_MS
  }

  /** The error that is expected at a time, 0 or more; undefined where too little is known. `timeMs`: -1 where it has none. */
  expected(timeMs: number): number | undefined {
    if (this.batches < LEAST) return undefined
    const mean = this.sums[0]! / this.batches
    if (!this.knowsDay || timeMs < 0) return mean
    fill(this.terms, timeMs)
    const weights = solved(this.products, this.sums)
    const curve = weights.reduce((sum, weight, i) => sum + weight * this.terms[i]!, 0)
    // A curve of hours that were never seen may be anything.
    return Math.min(2 * mean, Math.max(mean / 2, curve))
  }

  /** Adds the mean error of a batch. */
  add(error: number, timeMs: number): void {
    const { terms, products, sums } = this
    fill(terms, timeMs)
    if (timeMs >= 0) {
      this.first = Math.min(this.first, timeMs)
      this.last = Math.max(this.last, timeMs)
    }
    this.batches++
    for (let i = 0; i < TERMS; i++) {
      sums[i]! += terms[i]! * error
      for (let j = 0; j < TERMS; j++) products[i * TERMS + j]! += terms[i]! * terms[j]!
    }
  }

  write(writer: ByteWriter): void {
    for (const number of [this.batches, this.first, this.last]) writer.float64(number)
    for (const number of [...this.products, ...this.sums]) writer.float64(number)
  }

  /** Adds a reference of `write`. */
  join(reader: ByteReader): void {
    this.batches += reader.float64()
    this.first = Math.min(this.first, reader.float64())
    this.last = Math.max(this.last, reader.float64())
    for (const numbers of [this.products, this.sums]) {
      for (let i = 0; i < numbers.length; i++) numbers[i]! += reader.float64()
    }
  }
}

function fill(terms: Float64Array, timeMs: number): void {
  terms.fill(0)
  terms[0] = 1
  if (timeMs < 0) return
  const angle = (2 * Math.PI * (timeMs % DAY_MS)) / DAY_MS
  for (let wave = 1; 2 * wave < TERMS; wave++) {
    terms[2 * wave - 1] = Math.cos(wave * angle)
    terms[2 * wave] = Math.sin(wave * angle)
  }
}

/** Solves the normal equations, whose waves are drawn to 0, by elimination. */
function solved(products: Float64Array, sums: Float64Array): Float64Array {
  const a = products.slice()
  const b = sums.slice()
  for (let i = 1; i < TERMS; i++) a[i * TERMS + i]! += FLAT
  for (let i = 0; i < TERMS; i++) {
    for (let k = i + 1; k < TERMS; k++) {
      const factor = a[k * TERMS + i]! / a[i * TERMS + i]!
      for (let j = i; j < TERMS; j++) a[k * TERMS + j]! -= factor * a[i * TERMS + j]!
      b[k]! -= factor * b[i]!
    }
  }
  for (let i = TERMS - 1; i >= 0; i--) {
    for (let j = i + 1; j < TERMS; j++) b[i]! -= a[i * TERMS + j]! * b[j]!
    b[i]! /= a[i * TERMS + i]!
  }
  return b
}
