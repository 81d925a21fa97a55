/** Watches a stream of errors for a change of its mean. */
export interface DriftDetector {
  /** Adds the next error; true when a change was found with it. */
  add(error: number): boolean
  /** Changes found so far. */
  readonly alarms: number
}
