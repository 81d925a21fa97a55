import { type Backoff, backoffAfterScoring, NO_BACKOFF } from './step.ts'

/** A pass that took less is too short to wait for others before the next one, ms: timers have whole milliseconds. */
const SHORTEST_PASS_MS = 4
/** Longest wait, as a share of the last pass. */
const WAIT_SHARE = 0.25
/** Passes that do not wait after a wait in vain, at most. */
const MOST_SKIPPED = 64

/** Facts about a pass that has ended. */
export interface EndedPass {
  /** Queries that it answers. */
  readonly queries: number
  /** Queries that have come since it began. */
  readonly waiting: number
  readonly startedMs: number
  readonly endedMs: number
}

/** What to wait for before a pass. */
export interface GatheringWait {
  /** The wait is over when as many queries are there. */
  readonly queries: number
  /** Longest wait. */
  readonly ms: number
}

/** A wait that is over when it begins. */
const NO_WAIT: GatheringWait = { queries: 0, ms: 0 }

/**
 * Decides how long the queries that are there wait for others before a pass. A pass over all rows costs little more
 * for more queries, and clients that ask again as soon as they are answered come back one after the other: without a
 * wait the first of them begins a pass with a few, the others share the next one, and it stays so. So a pass waits for
 * as many queries as were there at once before, a quarter of the last pass at most. Where they do not come, the next
 * passes wait more and more seldom.
 */
export class Gathering {
  private last: EndedPass | undefined
  private backoff: Backoff = NO_BACKOFF

  /** Notes a pass. */
  ended(pass: EndedPass): void {
    this.last = pass
  }

  /** The wait before a pass that could begin now with so many queries; not more than `most` fit in. */
  next(queries: number, most: number, nowMs: number): GatheringWait {
    const { last, backoff } = this
    if (last === undefined) return NO_WAIT
    const tookMs = last.endedMs - last.startedMs
    const wanted = Math.min(most, last.queries + last.waiting)
    // What was asked long ago says nothing about what is on its way.
    if (queries >= wanted || tookMs < SHORTEST_PASS_MS || nowMs - last.endedMs > tookMs) {
      return NO_WAIT
    }
    this.backoff = backoffAfterScoring(backoff)
    return backoff.waiting > 0 ? NO_WAIT : { queries: wanted, ms: tookMs * WAIT_SHARE }
  }

  /** Notes whether the queries came that a pass waited for. */
  waited(came: boolean): void {
    const { next } = this.backoff
    this.backoff = came ? NO_BACKOFF : { waiting: next, next: Math.min(MOST_SKIPPED, 2 * next) }
  }
}
