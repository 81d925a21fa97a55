import type { AskingHistory } from '../port/asking-history.ts'
import { ESTIMATE } from './layout.ts'
import type { QueueMemory } from './memory.ts'

/** How the model of a queue was asked for, as its workers published it. */
export function askingHistory({ numbers, estimatesAt }: QueueMemory): AskingHistory {
  return {
    gaps: numbers[estimatesAt + ESTIMATE.gaps]!,
    meanGapMs: numbers[estimatesAt + ESTIMATE.meanGapMs]!,
    deviationMs: numbers[estimatesAt + ESTIMATE.gapDeviationMs]!,
    lastAskedAt: numbers[estimatesAt + ESTIMATE.lastAskedAt]!,
  }
}

/** Publishes it. Of two workers that do so at once the later one counts: this is an estimate. */
export function publishAsking(
  { numbers, estimatesAt }: QueueMemory,
  { gaps, meanGapMs, deviationMs, lastAskedAt }: AskingHistory,
): void {
  numbers[estimatesAt + ESTIMATE.gaps] = gaps
  numbers[estimatesAt + ESTIMATE.meanGapMs] = meanGapMs
  numbers[estimatesAt + ESTIMATE.gapDeviationMs] = deviationMs
  numbers[estimatesAt + ESTIMATE.lastAskedAt] = lastAskedAt
}
