/** Options of the updating process; its first argument, as JSON. */
export interface RowUpdaterPlan {
  /** Folder of the embedded log. */
  readonly directory: string
  readonly topic: string
  readonly rowsPerSecond: number
  /** User rows 1..users are updated in turn, in a scattered order. */
  readonly users: number
  readonly factors: number
}

/** Report of the updating process: what it has sent so far. */
export interface RowUpdaterReport {
  readonly rows: number
  readonly seconds: number
}
