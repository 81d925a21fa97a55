import { requireArgument } from '../core/errors.ts'
import type { DriftDetector } from './drift-detector.ts'

/** Options of `Adwin`. */
export interface AdwinOptions {
  /** Chance of a false alarm at one look, 0 < delta < 1. @default 0.002 */
  readonly delta?: number
  /** Largest error that is expected; errors are divided by it and cut to [0, 1]. @default 1 */
  readonly scale?: number
  /** Errors between two looks for a cut. @default 32 */
  readonly clock?: number
}

/** Buckets of one size before the two oldest of them become one of twice the size (M in the paper). */
const MAX_BUCKETS = 5
/** Smallest side of a cut. */
const MIN_SIDE = 5

/** Sums of 2^row errors each, oldest first. */
interface Row {
  readonly sums: number[]
  /** Sum of squared deviations within each bucket. */
  readonly deviations: number[]
}

/**
 * ADWIN2 of Bifet and Gavalda, "Learning from time-changing data with adaptive windowing" (SDM 2007):
 * a window of errors that grows while their mean stays the same and drops its old part when it does
 * not. Its section 3 gives the test: two parts of the window with n0 and n1 errors differ when
 *
 *   |mean0 - mean1| > sqrt(2 / m * variance * ln(2 / d)) + 2 / (3 m) * ln(2 / d)
 *   1 / m = 1 / n0 + 1 / n1,  d = delta / ln(n)
 *
 * and the exponential histogram of ADWIN2: O(log n) buckets, so only cuts between buckets are tried.
 */
export class Adwin implements DriftDetector {
  alarms = 0
  private readonly delta: number
  private readonly scale: number
  private readonly clock: number
  private readonly rows: Row[] = [{ sums: [], deviations: [] }]
  private count = 0
  private sum = 0
  private deviation = 0
  private sinceLook = 0

  /** Throws INVALID_ARGUMENT. */
  constructor(options: AdwinOptions = {}) {
    this.delta = options.delta ?? 0.002
    this.scale = options.scale ?? 1
    this.clock = options.clock ?? 32
    requireArgument(
      this.delta > 0 && this.delta < 1,
      `delta lies between 0 and 1, not at ${this.delta}`,
    )
    requireArgument(this.scale > 0, `the largest error is above 0, not ${this.scale}`)
    requireArgument(
      Number.isSafeInteger(this.clock) && this.clock >= 1,
      `the clock is a whole number from 1, not ${this.clock}`,
    )
  }

  /** Errors in the window: those since the last change. */
  get width(): number {
    return this.count
  }

  /** Mean error of the window, in the unit of the errors. */
  get mean(): number {
    return this.count === 0 ? Number.NaN : (this.sum / this.count) * this.scale
  }

  add(error: number): boolean {
    this.insert(Math.min(1, Math.max(0, error / this.scale)))
    if (++this.sinceLook < this.clock) return false
    this.sinceLook = 0
    const before = this.mean
    let isCut = false
    while (this.count > 2 * MIN_SIDE && this.hasCut()) {
      this.dropOldest()
      isCut = true
    }
    // A fall of the error is a change as well, but the window alone answers it: nobody is alarmed.
    const isRise = isCut && this.mean > before
    if (isRise) this.alarms++
    return isRise
  }

  private insert(value: number): void {
    if (this.count > 0) {
      const difference = value - this.sum / this.count
      this.deviation += (difference * difference * this.count) / (this.count + 1)
    }
    this.count++
    this.sum += value
    this.rows[0]?.sums.push(value)
    this.rows[0]?.deviations.push(0)
    this.compress()
  }

  private compress(): void {
    for (let i = 0; i < this.rows.length; i++) {
      const row = this.rows[i] as Row
      if (row.sums.length <= MAX_BUCKETS) return
      const size = 2 ** i
      const [a = 0, b = 0] = row.sums.splice(0, 2)
      const [p = 0, q = 0] = row.deviations.splice(0, 2)
      const difference = (a - b) / size
      const next = this.rows[i + 1] ?? { sums: [], deviations: [] }
      next.sums.push(a + b)
      next.deviations.push(p + q + (difference * difference * size) / 2)
      this.rows[i + 1] = next
    }
  }

  /** Whether some cut parts the window into two of different means. */
  private hasCut(): boolean {
    const variance = this.deviation / this.count
    const confidence = Math.log((2 * Math.log(this.count)) / this.delta)
    let n0 = 0
    let sum0 = 0
    for (let i = this.rows.length - 1; i >= 0; i--) {
      for (const bucket of (this.rows[i] as Row).sums) {
        n0 += 2 ** i
        sum0 += bucket
        const n1 = this.count - n0
        if (n1 < MIN_SIDE) return false
        if (n0 < MIN_SIDE) continue
        const inverse = 1 / n0 + 1 / n1
        const bound =
          Math.sqrt(2 * inverse * variance * confidence) + (2 / 3) * inverse * confidence
        if (Math.abs(sum0 / n0 - (this.sum - sum0) / n1) > bound) return true
      }
    }
    return false
  }

  private dropOldest(): void {
    const last = this.rows.length - 1
    const row = this.rows[last] as Row
    const size = 2 ** last
    const sum = row.sums.shift() ?? 0
    const inside = row.deviations.shift() ?? 0
    const rest = this.count - size
    const difference = sum / size - (this.sum - sum) / rest
    this.deviation -= inside + (difference * difference * size * rest) / this.count
    this.deviation = Math.max(0, this.deviation)
    this.count = rest
    this.sum -= sum
    if (row.sums.length === 0 && last > 0) this.rows.pop()
  }
}
