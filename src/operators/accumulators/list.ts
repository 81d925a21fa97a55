import type { Accumulator } from '../port/accumulator.ts'

/** A list of all values that were added, for few and small ones: each report of metrics copies it. */
export class ListAccumulator<T> implements Accumulator<T, T[], T[]> {
  readonly type = 'ListAccumulator'
  private values: T[] = []

  add(value: T): void {
    this.values.push(value)
  }

  getLocalValue(): T[] {
    return [...this.values]
  }

  resetLocal(): void {
    this.values = []
  }

  state(): T[] {
    return [...this.values]
  }

  merge(state: T[]): void {
    for (const value of state) this.values.push(value)
  }
}
