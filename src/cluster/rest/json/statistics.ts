/** Summary of some numbers under Flink's names. */
export interface StatisticsJson {
  readonly min: number
  readonly max: number
  readonly avg: number
  readonly sum: number
  readonly median: number
  readonly p25: number
  readonly p75: number
  readonly p95: number
}

/** The summary of a metric over subtasks; zeros without any. */
export function statisticsOf(values: readonly number[]): StatisticsJson {
  const sorted = [...values].sort((a, b) => a - b)
  const sum = sorted.reduce((total, value) => total + value, 0)
  return {
    min: sorted[0] ?? 0,
    max: sorted.at(-1) ?? 0,
    avg: Math.round(sum / Math.max(1, sorted.length)),
    sum,
    median: quantile(sorted, 0.5),
    p25: quantile(sorted, 0.25),
    p75: quantile(sorted, 0.75),
    p95: quantile(sorted, 0.95),
  }
}

/** The summary of a number over checkpoints. */
export function summaryOf(values: readonly number[]): object {
  const sorted = [...values].sort((a, b) => a - b)
  const sum = sorted.reduce((total, value) => total + value, 0)
  return {
    min: sorted[0] ?? 0,
    max: sorted.at(-1) ?? 0,
    avg: Math.round(sum / Math.max(1, sorted.length)),
    p50: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    p95: quantile(sorted, 0.95),
    p99: quantile(sorted, 0.99),
    p999: quantile(sorted, 0.999),
  }
}

/** The smallest value that at least the share `q` of the sorted values does not exceed. */
function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0
}
