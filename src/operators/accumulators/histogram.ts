import { WeirError } from '../../core/errors.ts'
import type { Accumulator } from '../port/accumulator.ts'

/** How often each whole number was added (Flink's `Histogram`). The result is sorted by number. */
export class HistogramAccumulator
  implements Accumulator<number, Map<number, number>, Map<number, number>>
{
  readonly type = 'Histogram'
  private readonly counts = new Map<number, number>()

  /** Throws INVALID_ARGUMENT for a fraction. */
  add(value: number): void {
    if (!Number.isInteger(value)) {
      throw new WeirError('INVALID_ARGUMENT', `a histogram counts whole numbers, not ${value}`)
    }
    this.count(value, 1)
  }

  getLocalValue(): Map<number, number> {
    return new Map([...this.counts].sort(([a], [b]) => a - b))
  }

  resetLocal(): void {
    this.counts.clear()
  }

  state(): Map<number, number> {
    return new Map(this.counts)
  }

  merge(state: Map<number, number>): void {
    for (const [value, count] of state) this.count(value, count)
  }

  private count(value: number, times: number): void {
    this.counts.set(value, (this.counts.get(value) ?? 0) + times)
  }
}
