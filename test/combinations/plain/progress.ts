import type { Installation } from '../installation.ts'
import type { Rows } from '../service.ts'

/** The error that a learning job reports. */
export interface ReportedError {
  /** Observations that were predicted before they were learned. */
  readonly count: number
  /** Their mean squared error, or mean loss. */
  readonly loss: number
  /** The parts of its slots. */
  readonly slots: readonly unknown[]
}

/** A version that is learned, recomputed step by step by the definition of its rule. */
export interface Progress {
  /** What it is now, to go back to. */
  copy(): Progress
  /** The job goes back to an earlier state, and learns again what came after it. */
  goBackTo(earlier: Progress): void
  /** Learns what the job has learned since; says what is wrong with its steps and with the rows that it serves. */
  goOn(at: Installation, served: Rows): Promise<readonly string[]>
  /** What is wrong with the reported counts and errors; `hasFirstSlots`: the job has the slots that it began with. */
  check(reported: ReportedError, hasFirstSlots: boolean): readonly string[]
}
