/** Writes since the last look, of which a row in this many makes a segment too lively for codes. */
const CALM_SHARE = 64
/** With more candidates than these it is cheaper to score the whole segment. */
const CANDIDATES = 32
const CANDIDATES_PER_QUERY = 8

/**
 * What a top-k pass does with a segment: `score` all its rows from their floats, or `screen` them by
 * their codes and score only the candidates; before that `encode` all rows or `refresh` the codes of
 * those that changed.
 */
export type SegmentStep = 'screen' | 'refresh' | 'encode' | 'score'

/** What is known of a segment. */
export interface SegmentFacts {
  readonly rows: number
  /** Whether the thread has codes of its rows. */
  readonly coded: boolean
  /** Writes in it since its codes were made or last refreshed. */
  readonly writesSinceCoded: number
  /** Writes in it since a pass of this thread met it last; Infinity if none did. */
  readonly writesSinceScan: number
  /** Whether every query of the pass has k rows already: only then a bound excludes anything. */
  readonly bounded: boolean
  /** Segments to be scored before the next one is screened, see `Backoff`. */
  readonly waiting: number
  /** Whether this pass may make codes for one more segment. */
  readonly mayEncode: boolean
}

/**
 * The step for a segment. Codes are made and refreshed only where few rows change between two passes,
 * for a row costs about twelve times as much to code as to score.
 */
export function segmentStep(facts: SegmentFacts): SegmentStep {
  if (!facts.bounded || facts.waiting > 0) return 'score'
  if (facts.coded && facts.writesSinceCoded === 0) return 'screen'
  if (facts.writesSinceScan * CALM_SHARE > facts.rows) return 'score'
  if (facts.coded) return 'refresh'
  return facts.mayEncode ? 'encode' : 'score'
}

/** Whether a segment that was screened is scored after all: the candidates of all queries are too many. */
export function tooMany(candidates: number, queries: number): boolean {
  return candidates > CANDIDATES + CANDIDATES_PER_QUERY * queries
}

/** How a pass leaves off screening while it does not pay. */
export interface Backoff {
  /** Segments to be scored before the next one is screened. */
  readonly waiting: number
  /** As many after the next failure. */
  readonly next: number
}

/** Where a pass begins. */
export const NO_BACKOFF: Backoff = { waiting: 0, next: 1 }

/** After a segment that was scored at once. */
export function backoffAfterScoring(before: Backoff): Backoff {
  return before.waiting === 0 ? before : { ...before, waiting: before.waiting - 1 }
}

/** After a segment that was screened, to some use or not. */
export function backoffAfterScreening(before: Backoff, useful: boolean): Backoff {
  return useful ? NO_BACKOFF : { waiting: before.next, next: 2 * before.next }
}

/** Most segments that a pass makes codes for, so that the first passes cost at most a few times more. */
export function encodingsOfPass(segments: number): number {
  return Math.max(8, segments >> 3)
}
