/** What one kind of fault did, each time it came. */
export interface FaultReport {
  count: number
  /** From the fault until what was broken was there again, ms. */
  readonly outageMs: number[]
  /** From then until everything had progressed again, ms. */
  readonly recoveryMs: number[]
}

/** The last line that the verifier prints. */
export interface VerifyReport {
  readonly verdict: 'passed' | 'failed'
  readonly seed: number
  /** Slots, processes, brokers, NameNodes and DataNodes that were ended. */
  readonly kills: number
  /** Records in the input topics: counted ones and distinct deltas. */
  readonly records: number
  /** Records that did not reach a row or a result. */
  readonly lost: number
  /** Records that reached a row or a result more than once. */
  readonly duplicated: number
  readonly queriesChecked: number
  /** Answers, rows and waits that must not be. */
  readonly violations: number
  /** How many of each kind. */
  readonly kinds: Readonly<Record<string, number>>
  /** Some of them in words. */
  readonly details: readonly string[]
  readonly seconds: number
  readonly faults: Readonly<Record<string, FaultReport>>
  /** Failed answers by code. */
  readonly queryErrors: Readonly<Record<string, number>>
  /** Processes and attempts that the jobs took. */
  readonly jobs: Readonly<Record<string, { processes: number; attempts: number }>>
}
