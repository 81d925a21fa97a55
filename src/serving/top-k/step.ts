/** A segment with more writes since the last pass than one row in this many is not coded. */
const CALM_SHARE = 64
/** With more candidates than this it is cheaper to score the whole segment. */
const CANDIDATES = 32
const CANDIDATES_PER_QUERY = 8

/**
 * The step of a top-k pass for a segment: `score` all its rows from their floats, or `screen` them by
 * their codes and score only the candidates; `encode` all rows, or `refresh` the codes of rows that have
 * changed, before screening.
 */
export type SegmentStep = 'screen' | 'refresh' | 'encode' | 'score'

/** Facts about a segment. */
export interface SegmentFacts {
  readonly rows: number
  /** Whether the thread has codes of its rows. */
  readonly coded: boolean
  /** Writes in it since its codes were made or last refreshed. */
  readonly writesSinceCoded: number
  /** Writes in it since the last pass of this thread; Infinity before the first. */
  readonly writesSinceScan: number
  /** Whether every query of the pass has k rows: only then a bound can exclude rows. */
  readonly bounded: boolean
  /** Segments to score before the next one is screened; see `Backoff`. */
  readonly waiting: number
  /** Whether this pass may make codes for one more segment. */
  readonly mayEncode: boolean
}

/**
 * The step for a segment. Codes are made and refreshed only where few rows change between two passes,
 * because coding a row costs about twelve times as much as scoring it.
 */
export function segmentStep(facts: SegmentFacts): SegmentStep {
  if (!facts.bounded || facts.waiting > 0) return 'score'
  if (facts.coded && facts.writesSinceCoded === 0) return 'screen'
  if (facts.writesSinceScan * CALM_SHARE > facts.rows) return 'score'
  if (facts.coded) return 'refresh'
  return facts.mayEncode ? 'encode' : 'score'
}

/** Whether a screened segment has so many candidates that all its rows are scored. */
export function tooMany(candidates: number, queries: number): boolean {
  return candidates > CANDIDATES + CANDIDATES_PER_QUERY * queries
}

/** Backoff of screening: a pass skips it while it is not useful. */
export interface Backoff {
  /** Segments to score before the next one is screened. */
  readonly waiting: number
  /** The value of `waiting` after the next useless screening. */
  readonly next: number
}

/** Backoff at the start of a pass. */
export const NO_BACKOFF: Backoff = { waiting: 0, next: 1 }

/** The backoff after a segment that was scored without screening. */
export function backoffAfterScoring(before: Backoff): Backoff {
  return before.waiting === 0 ? before : { ...before, waiting: before.waiting - 1 }
}

/** The backoff after a segment that was screened. */
export function backoffAfterScreening(before: Backoff, useful: boolean): Backoff {
  return useful ? NO_BACKOFF : { waiting: before.next, next: 2 * before.next }
}

/** Most segments that one pass codes, so that the first passes cost at most a few times more. */
export function encodingsOfPass(segments: number): number {
  return Math.max(8, segments >> 3)
}
