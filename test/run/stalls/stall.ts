/** How long a run may be quiet. */
export interface StallLimits {
  /** Time without an end of a test, hook or file after which a run says what it waits for, and again after each such time, ms. */
  readonly sayMs: number
  /** Time without such an end that no limit of a test explains, ms. */
  readonly mostQuietMs: number
  /** How much later than its limit a test may end before it counts as one that cannot, ms. */
  readonly graceMs: number
}

/** Limits where hooks and most tests have at most 400 s. */
export const STALL_LIMITS: StallLimits = { sayMs: 120_000, mostQuietMs: 600_000, graceMs: 120_000 }

/** A test that runs, or a file outside of its tests. */
export interface Running {
  readonly name: string
  readonly sinceMs: number
  /** Its own limit, ms; undefined where it has the one of all. */
  readonly limitMs: number | undefined
}

/** What a run knows of itself at a time. */
export interface RunFacts {
  readonly nowMs: number
  /** When a test, hook or file last ended. */
  readonly lastEndMs: number
  /** When the run last said what it waits for. */
  readonly saidMs: number
  readonly running: readonly Running[]
}

/** What a run does: nothing, says what it waits for, or ends the processes that nothing else ends. */
export type StallDecision = 'nothing' | 'say' | 'end'

/**
 * Decides whether a run stands still. A test whose thread is blocked, a file that waits before its first test, and a process
 * that keeps the output of an ended one open have no limit that ends them.
 */
export function decideStall(
  { nowMs, lastEndMs, saidMs, running }: RunFacts,
  { sayMs, mostQuietMs, graceMs }: StallLimits,
): StallDecision {
  const limits = running.map(({ sinceMs, limitMs = 0 }) => sinceMs + limitMs + graceMs)
  if (nowMs >= Math.max(lastEndMs + mostQuietMs, ...limits)) return 'end'
  return nowMs >= Math.max(lastEndMs, saidMs) + sayMs ? 'say' : 'nothing'
}
