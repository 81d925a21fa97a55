import { LatencyHistogram } from '../port/latency-histogram.ts'
import type { LoadWindow } from '../port/window.ts'

/** Windows that are compared with each other. */
export const COMPARED_WINDOWS = 3

/** The latency that a measurement is judged by: a percentile (0..100), or the mean. */
export type JudgedLatency = number | 'mean'

/** Answered requests per second of a window. */
export function throughputOf({ ok, durationMs }: LoadWindow): number {
  return durationMs > 0 ? (ok * 1000) / durationMs : 0
}

/** The judged latency of a window, ms; NaN if it has none. */
export function judgedMs(window: LoadWindow, judged: JudgedLatency): number {
  const latency = new LatencyHistogram()
  latency.add(window.latency)
  return judged === 'mean' ? latency.meanMs : latency.percentileMs(judged)
}

/**
 * Whether a measurement is stable, by perf_analyzer's rule: over the last three windows, the highest
 * throughput and the highest judged latency are at most `percentage` above the lowest.
 */
export function isStable(
  windows: readonly LoadWindow[],
  { judged, percentage }: { readonly judged: JudgedLatency; readonly percentage: number },
): boolean {
  const last = windows.slice(-COMPARED_WINDOWS)
  if (last.length < COMPARED_WINDOWS) return false
  const isClose = (values: readonly number[]): boolean =>
    Math.max(...values) <= Math.min(...values) * (1 + percentage / 100)
  return isClose(last.map(throughputOf)) && isClose(last.map((window) => judgedMs(window, judged)))
}
