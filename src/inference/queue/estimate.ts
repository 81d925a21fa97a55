import type { LatencyEstimate } from '../port/latency-estimate.ts'
import { ESTIMATE } from './layout.ts'
import type { QueueMemory } from './memory.ts'

/** How long batches of a queue take, as its workers published it. */
export function latencyEstimate({ numbers, estimatesAt }: QueueMemory): LatencyEstimate {
  return {
    fixedMs: numbers[estimatesAt + ESTIMATE.fixedMs]!,
    itemMs: numbers[estimatesAt + ESTIMATE.itemMs]!,
    ratio: numbers[estimatesAt + ESTIMATE.ratio]!,
    largest: numbers[estimatesAt + ESTIMATE.largest]!,
  }
}

/** Publishes it. Of two workers that do so at once the later one counts: this is an estimate. */
export function publishLatency(
  { numbers, estimatesAt }: QueueMemory,
  { fixedMs, itemMs, ratio, largest }: LatencyEstimate,
): void {
  numbers[estimatesAt + ESTIMATE.fixedMs] = fixedMs
  numbers[estimatesAt + ESTIMATE.itemMs] = itemMs
  numbers[estimatesAt + ESTIMATE.ratio] = ratio
  numbers[estimatesAt + ESTIMATE.largest] = largest
}
