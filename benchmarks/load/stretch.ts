import { type Ask, measureThroughput, type Throughput } from './generator.ts'
import { quantile, rounded } from './statistics.ts'

/** Questions that are outstanding at a time. */
export const OUTSTANDING = 256
/** Seconds of a measured stretch. */
export const STRETCH_SECONDS = 3
const WARM_UP_SECONDS = 2

/** One measured stretch of load. */
export function stretch(ask: Ask): Promise<Throughput> {
  return measureThroughput(ask, OUTSTANDING, STRETCH_SECONDS)
}

/** Load before the measurement, so that code is compiled and connections are open. */
export function warmUp(ask: Ask): Promise<Throughput> {
  return measureThroughput(ask, OUTSTANDING, WARM_UP_SECONDS)
}

/** Percentiles of the latencies of all rounds, ms. */
export function percentilesOf(rounds: readonly Throughput[]): Record<string, number> {
  const all = rounds.flatMap(({ sampledMs }) => sampledMs)
  return { p50Ms: rounded(quantile(all, 0.5)), p99Ms: rounded(quantile(all, 0.99)) }
}
