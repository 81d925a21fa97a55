import { requireArgument } from './errors.ts'

/** A number that only grows. */
export class Counter {
  value = 0
  /** Adds `n`, 0 <= n. */
  increment(n = 1): void {
    this.value += n
  }
}

/** A number that is computed when metrics are read. */
export type Gauge = () => number

/** Time of a window of observations, ms. */
const WINDOW_MS = 60_000
const BUCKETS = 256

/**
 * Durations or sizes in buckets that grow by a quarter, so that a percentile is within 12 %. Number and sum are of all
 * observations, percentiles and largest value of the last one to two minutes, or of the time since the last reading.
 */
export class Histogram {
  count = 0
  sum = 0
  private readonly nowMs: () => number
  private buckets = new Float64Array(BUCKETS)
  private largest = 0
  /** The window before. */
  private earlier = new Float64Array(BUCKETS)
  private earlierLargest = 0
  private sinceMs: number

  constructor(nowMs: () => number = () => performance.now()) {
    requireArgument(typeof nowMs === 'function', 'new Histogram(...): nowMs must be a function')
    this.nowMs = nowMs
    this.sinceMs = nowMs()
  }

  /** Counts one observation, 0 <= value. */
  observe(value: number): void {
    this.count += 1
    this.sum += value
    if (value > this.largest) this.largest = value
    this.buckets[bucketOf(value)]! += 1
  }

  /** The largest observation; 0 when there are none. */
  get max(): number {
    this.roll()
    return Math.max(this.largest, this.earlierLargest)
  }

  /** The value below which the share `q` (0..1) of the observations is; 0 when there are none. */
  quantile(q: number): number {
    const isShare = typeof q === 'number' && q >= 0 && q <= 1
    requireArgument(isShare, 'histogram.quantile(...): q must be a number from 0 to 1')
    this.roll()
    const { buckets, earlier } = this
    const largest = Math.max(this.largest, this.earlierLargest)
    let count = 0
    for (let i = 0; i < BUCKETS; i++) count += buckets[i]! + earlier[i]!
    let seen = 0
    for (let i = 0; i < BUCKETS; i++) {
      seen += buckets[i]! + earlier[i]!
      if (seen >= q * count && seen > 0) return Math.min(boundOf(i), largest)
    }
    return largest
  }

  /** Begins another window when the last one is over. */
  private roll(): void {
    const nowMs = this.nowMs()
    if (nowMs - this.sinceMs < WINDOW_MS) return
    const { buckets } = this
    this.buckets = this.earlier.fill(0)
    this.earlier = buckets
    this.earlierLargest = this.largest
    this.largest = 0
    this.sinceMs = nowMs
  }
}

const SMALLEST = 1e-4
const GROWTH = Math.log(1.25)

function bucketOf(value: number): number {
  if (value <= SMALLEST) return 0
  return Math.min(BUCKETS - 1, Math.ceil(Math.log(value / SMALLEST) / GROWTH))
}

function boundOf(bucket: number): number {
  return SMALLEST * Math.exp(bucket * GROWTH)
}

/** One metric of a registry. */
export type Metric =
  | { readonly kind: 'counter'; readonly counter: Counter }
  | { readonly kind: 'gauge'; readonly gauge: Gauge }
  | { readonly kind: 'histogram'; readonly histogram: Histogram }

/** A flat, plain-data image of metrics: full name to number. */
export type MetricSnapshot = Readonly<Record<string, number>>

/**
 * Metrics under Flink's names, in scopes joined by dots
 * (`<job>.<operator>.<subtask>.numRecordsIn`). One group belongs to one thread.
 */
export class MetricGroup {
  private readonly scope: string
  private readonly metrics: Map<string, Metric>

  constructor(scope = '', metrics: Map<string, Metric> = new Map()) {
    this.scope = scope
    this.metrics = metrics
  }

  /** A group for a part of this one, in the same registry. */
  group(name: string): MetricGroup {
    return new MetricGroup(this.fullName(name, 'group'), this.metrics)
  }

  /** The counter of this name, created on first use. */
  counter(name: string): Counter {
    const fullName = this.fullName(name, 'counter')
    const existing = this.metrics.get(fullName)
    if (existing?.kind === 'counter') return existing.counter
    const counter = new Counter()
    this.metrics.set(fullName, { kind: 'counter', counter })
    return counter
  }

  /** Registers a gauge, replacing one of the same name. */
  gauge(name: string, gauge: Gauge): void {
    requireArgument(typeof gauge === 'function', 'metrics.gauge(...): gauge must be a function')
    this.metrics.set(this.fullName(name, 'gauge'), { kind: 'gauge', gauge })
  }

  /** The histogram of this name, created on first use. */
  histogram(name: string): Histogram {
    const fullName = this.fullName(name, 'histogram')
    const existing = this.metrics.get(fullName)
    if (existing?.kind === 'histogram') return existing.histogram
    const histogram = new Histogram()
    this.metrics.set(fullName, { kind: 'histogram', histogram })
    return histogram
  }

  /** Every metric of the registry as numbers; a histogram gives `_count`, `_sum`, `_p50`, `_p99`, `_max`. */
  snapshot(): MetricSnapshot {
    const values: Record<string, number> = {}
    for (const [name, metric] of this.metrics) {
      if (metric.kind === 'counter') values[name] = metric.counter.value
      else if (metric.kind === 'gauge') values[name] = metric.gauge()
      else {
        values[`${name}_count`] = metric.histogram.count
        values[`${name}_sum`] = metric.histogram.sum
        values[`${name}_p50`] = metric.histogram.quantile(0.5)
        values[`${name}_p99`] = metric.histogram.quantile(0.99)
        values[`${name}_max`] = metric.histogram.max
      }
    }
    return values
  }

  private fullName(name: string, call: string): string {
    requireArgument(
      typeof name === 'string' && name !== '',
      `metrics.${call}(...): name must be a text that is not empty`,
    )
    return this.scope === '' ? name : `${this.scope}.${name}`
  }
}
