import { WeirError } from '../../core/errors.ts'
import type { Accumulator } from '../port/accumulator.ts'
import { requireNumber } from './require-number.ts'

/** The base of sums. */
abstract class Sum implements Accumulator<number, number, number> {
  abstract readonly type: string
  protected sum = 0

  /** Throws INVALID_ARGUMENT for what is no number. */
  add(value: number): void {
    requireNumber(value, this.type)
    this.sum += value
  }

  getLocalValue(): number {
    return this.sum
  }

  resetLocal(): void {
    this.sum = 0
  }

  state(): number {
    return this.sum
  }

  merge(state: number): void {
    this.sum += state
  }
}

/** The base of sums of whole numbers. */
abstract class WholeSum extends Sum {
  /** Throws INVALID_ARGUMENT for a fraction. */
  override add(value: number): void {
    if (!Number.isInteger(value)) {
      throw new WeirError('INVALID_ARGUMENT', `${this.type} adds whole numbers, not ${value}`)
    }
    super.add(value)
  }
}

/** A sum of whole numbers. As a JavaScript number it does not overflow at 2^31. */
export class IntCounter extends WholeSum {
  readonly type = 'IntCounter'
}

/** A sum of whole numbers, exact up to 2^53. */
export class LongCounter extends WholeSum {
  readonly type = 'LongCounter'
}

/** A sum of numbers. */
export class DoubleCounter extends Sum {
  readonly type = 'DoubleCounter'
}
