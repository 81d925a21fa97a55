import type { Accumulator } from '../port/accumulator.ts'
import { requireNumber } from './require-number.ts'

/** The base of minima and maxima. Before the first number the result is the other end of the range, as in Flink. */
abstract class Extreme implements Accumulator<number, number, number> {
  abstract readonly type: string
  private readonly first: number
  private readonly choose: (a: number, b: number) => number
  private value: number

  constructor(first: number, choose: (a: number, b: number) => number) {
    this.first = first
    this.choose = choose
    this.value = first
  }

  /** Throws INVALID_ARGUMENT for what is no number. */
  add(value: number): void {
    requireNumber(value, this.type)
    this.value = this.choose(this.value, value)
  }

  getLocalValue(): number {
    return this.value
  }

  resetLocal(): void {
    this.value = this.first
  }

  state(): number {
    return this.value
  }

  merge(state: number): void {
    this.add(state)
  }
}

/** The least of 32-bit numbers; 2^31 - 1 before the first. */
export class IntMinimum extends Extreme {
  readonly type = 'IntMinimum'

  constructor() {
    super(2 ** 31 - 1, Math.min)
  }
}

/** The largest of 32-bit numbers; -(2^31) before the first. */
export class IntMaximum extends Extreme {
  readonly type = 'IntMaximum'

  constructor() {
    super(-(2 ** 31), Math.max)
  }
}

/** The least of whole numbers; 2^53 - 1 before the first. */
export class LongMinimum extends Extreme {
  readonly type = 'LongMinimum'

  constructor() {
    super(Number.MAX_SAFE_INTEGER, Math.min)
  }
}

/** The largest of whole numbers; -(2^53 - 1) before the first. */
export class LongMaximum extends Extreme {
  readonly type = 'LongMaximum'

  constructor() {
    super(Number.MIN_SAFE_INTEGER, Math.max)
  }
}

/** The least of numbers; infinity before the first. */
export class DoubleMinimum extends Extreme {
  readonly type = 'DoubleMinimum'

  constructor() {
    super(Number.POSITIVE_INFINITY, Math.min)
  }
}

/** The largest of numbers; minus infinity before the first. */
export class DoubleMaximum extends Extreme {
  readonly type = 'DoubleMaximum'

  constructor() {
    super(Number.NEGATIVE_INFINITY, Math.max)
  }
}
