import type { MetricSnapshot } from '../../../core/metrics.ts'

/** Samples of chosen metrics, oldest first. */
export interface SampleWindow {
  /** Ms since 1970. */
  readonly times: readonly number[]
  /** `[metrics x samples]`; null where a metric had no finite value. */
  readonly values: readonly (readonly (number | null)[])[]
}

/** Bounds of a ring. */
export interface SampleRingOptions {
  /** Samples that are kept. */
  readonly samples: number
  /** Metrics that are kept; further ones are left out. */
  readonly metrics: number
}

interface Column {
  readonly values: Float64Array
  /** Number of the last sample that had a value. */
  last: number
}

/** The newest samples of many metrics, in memory of a fixed size. */
export class SampleRing {
  private readonly options: SampleRingOptions
  private readonly times: Float64Array
  private readonly columns = new Map<string, Column>()
  /** Number of the next sample. */
  private next = 0

  constructor(options: SampleRingOptions) {
    this.options = options
    this.times = new Float64Array(options.samples)
  }

  /** Time of the newest sample; -Infinity before the first. */
  get newestMs(): number {
    return this.next === 0 ? Number.NEGATIVE_INFINITY : this.times[this.placeOf(this.next - 1)]!
  }

  /** Adds a sample. One that is not newer than the newest is ignored. */
  add(atMs: number, values: MetricSnapshot): void {
    if (atMs <= this.newestMs) return
    const place = this.placeOf(this.next)
    this.times[place] = atMs
    for (const column of this.columns.values()) column.values[place] = Number.NaN
    for (const [name, value] of Object.entries(values)) {
      const column = this.columnOf(name)
      if (column === undefined) continue
      column.values[place] = value
      column.last = this.next
    }
    this.next += 1
  }

  /** The newest samples of these metrics, at most `last`. */
  read(names: readonly string[], last: number): SampleWindow {
    const count = Math.min(last, this.next, this.options.samples)
    const places = Array.from({ length: count }, (_, i) => this.placeOf(this.next - count + i))
    return {
      times: places.map((place) => this.times[place]!),
      values: names.map((name) => {
        const column = this.columns.get(name)
        return places.map((place) => finiteOrNull(column?.values[place]))
      }),
    }
  }

  private placeOf(sample: number): number {
    return sample % this.options.samples
  }

  /** The column of a metric, created on first use; undefined when all columns are in use. */
  private columnOf(name: string): Column | undefined {
    const known = this.columns.get(name)
    if (known !== undefined) return known
    if (this.columns.size >= this.options.metrics) this.dropEmpty()
    if (this.columns.size >= this.options.metrics) return undefined
    const column = { values: new Float64Array(this.options.samples).fill(Number.NaN), last: 0 }
    this.columns.set(name, column)
    return column
  }

  /** Drops metrics without a value in any sample that is kept, such as those of a removed subtask. */
  private dropEmpty(): void {
    for (const [name, { last }] of this.columns) {
      if (last <= this.next - this.options.samples) this.columns.delete(name)
    }
  }
}

function finiteOrNull(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value
}
