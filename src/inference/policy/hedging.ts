import type { HedgeSettings } from '../port/deployment.ts'
import type { LatencyEstimate } from '../port/latency-estimate.ts'
import { meanMs } from './latency-model.ts'

/** Quantile of the ratio that the latency model keeps. */
const KNOWN_TAIL = Math.log(1 / 0.01)

/**
 * Time after the start of a run at which the request is given to a second worker, ms. For a quantile the
 * times above the mean are taken as exponential, through the 99th percentile of the latency model.
 */
export function hedgeAfterMs(
  settings: HedgeSettings,
  latency: LatencyEstimate,
  items: number,
): number {
  if ('afterMs' in settings) return settings.afterMs
  const tail = Math.log(1 / Math.max(1e-6, 1 - settings.quantile)) / KNOWN_TAIL
  return meanMs(latency, items) * (1 + (latency.ratio - 1) * tail)
}
