import type { AskingHistory } from '../port/asking-history.ts'

/** History of a model that nothing has asked for. */
export const NEVER_ASKED: AskingHistory = {
  gaps: 0,
  meanGapMs: 0,
  deviationMs: 0,
  lastAskedAt: 0,
}

/** Weight of the latest gap, once there are as many. */
const LATEST = 0.1
/** Mean distance from the mean, in means, of gaps at random (an exponential distribution): 2/e. */
const RANDOM_DEVIATION = 2 / Math.E
/** Gaps before a model may count as regular. */
const ENOUGH_GAPS = 3
/** Regularity from which the next request has a time. */
const REGULAR = 0.75
/** Deviations, and share of a gap, after which a request that did not come is no longer expected. */
const LATE_DEVIATIONS = 2
const LATE_SHARE = 0.1
/** Weight of the present gap while it is longer than the mean. */
const PRESENT = 0.2

/** The history after the model is asked at `atMs`. Pure. */
export function askedAt(history: AskingHistory, atMs: number): AskingHistory {
  if (history.lastAskedAt === 0) return { ...NEVER_ASKED, lastAskedAt: atMs }
  const gapMs = Math.max(0, atMs - history.lastAskedAt)
  const gaps = history.gaps + 1
  const weight = Math.max(1 / gaps, LATEST)
  const distance = gaps === 1 ? 0 : Math.abs(gapMs - history.meanGapMs)
  return {
    gaps,
    meanGapMs: history.meanGapMs + weight * (gapMs - history.meanGapMs),
    deviationMs: history.deviationMs + weight * (distance - history.deviationMs),
    lastAskedAt: Math.max(atMs, history.lastAskedAt),
  }
}

/**
 * Time until the model is asked next, expected, ms. Gaps at random have no memory: the mean is left at any time,
 * and more when the present gap is already longer. Regular gaps end at the mean, and past it the
 * model is the less likely the longer it is over. The deviation weights the two. Without gaps the
 * time since the last request or the load (`enteredAt`) counts, as for least recent use. Pure.
 */
export function expectedNextMs(history: AskingHistory, nowMs: number, enteredAt: number): number {
  const { gaps, meanGapMs, lastAskedAt } = history
  const sinceMs = Math.max(0, nowMs - lastAskedAt)
  if (gaps === 0) return Math.min(sinceMs, nowMs - enteredAt)
  const atRandom = Math.max(meanGapMs, (1 - PRESENT) * meanGapMs + PRESENT * sinceMs)
  if (gaps < ENOUGH_GAPS) return atRandom
  const regularity = regularityOf(history)
  return regularity * Math.abs(meanGapMs - sinceMs) + (1 - regularity) * atRandom
}

/**
 * Time until the model is due, ms, where the gaps are regular; Infinity where they are not, and once a request
 * that was due has not come: the pattern has ended. Pure.
 */
export function dueInMs(history: AskingHistory, nowMs: number): number {
  const { gaps, meanGapMs, deviationMs, lastAskedAt } = history
  if (gaps < ENOUGH_GAPS || regularityOf(history) < REGULAR) return Number.POSITIVE_INFINITY
  const leftMs = lastAskedAt + meanGapMs - nowMs
  const lateMs = Math.max(LATE_DEVIATIONS * deviationMs, LATE_SHARE * meanGapMs)
  return leftMs < -lateMs ? Number.POSITIVE_INFINITY : Math.max(0, leftMs)
}

/** 1 for gaps of equal length, 0 for gaps at random. */
function regularityOf({ meanGapMs, deviationMs }: AskingHistory): number {
  return Math.max(0, 1 - deviationMs / (RANDOM_DEVIATION * meanGapMs || 1))
}
