/** Detector of changes in the mean of a stream of errors. */
export interface DriftDetector {
  /** Adds the next error; true when it reveals a change. */
  add(error: number): boolean
  /** Changes found so far. */
  readonly alarms: number
}
