import type { Accumulator } from '../port/accumulator.ts'
import { requireNumber } from './require-number.ts'

/** Sum and number of what was added. */
export interface AverageState {
  readonly sum: number
  readonly count: number
}

/** The mean of all numbers that were added; 0 when there are none. */
export class AverageAccumulator implements Accumulator<number, number, AverageState> {
  readonly type = 'AverageAccumulator'
  private sum = 0
  private count = 0

  /** Throws INVALID_ARGUMENT for what is no number. */
  add(value: number): void {
    requireNumber(value, this.type)
    this.sum += value
    this.count += 1
  }

  getLocalValue(): number {
    return this.count === 0 ? 0 : this.sum / this.count
  }

  resetLocal(): void {
    this.sum = 0
    this.count = 0
  }

  state(): AverageState {
    return { sum: this.sum, count: this.count }
  }

  merge({ sum, count }: AverageState): void {
    this.sum += sum
    this.count += count
  }
}
