/** Effect of one kind of fault, each time it came. */
export interface FaultReport {
  count: number
  /** Duration of each fault, ms. */
  readonly outageMs: number[]
  /** Time from the end of each fault until all jobs and queries made progress, ms. */
  readonly recoveryMs: number[]
}

/** The verdict, which is the last line of the verifier's output. */
export interface VerifyReport {
  readonly verdict: 'passed' | 'failed'
  readonly seed: number
  /** Number of killed slots, processes, brokers, NameNodes and DataNodes. */
  readonly kills: number
  /** Number of records in the input topics: records to count, and distinct deltas. */
  readonly records: number
  /** Number of records that reached no row or result. */
  readonly lost: number
  /** Number of records that reached a row or a result more than once. */
  readonly duplicated: number
  readonly queriesChecked: number
  /** Number of forbidden answers, rows and waits. */
  readonly violations: number
  /** Number of violations by kind. */
  readonly kinds: Readonly<Record<string, number>>
  /** Some violations, in words. */
  readonly details: readonly string[]
  readonly seconds: number
  readonly faults: Readonly<Record<string, FaultReport>>
  /** Failed answers by code. */
  readonly queryErrors: Readonly<Record<string, number>>
  /** Processes and attempts of each job. */
  readonly jobs: Readonly<Record<string, { processes: number; attempts: number }>>
}
