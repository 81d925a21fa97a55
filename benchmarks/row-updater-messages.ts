/** What the updating process does; the JSON text of its first argument. */
export interface RowUpdaterPlan {
  /** Folder of the embedded log. */
  readonly directory: string
  readonly topic: string
  readonly rowsPerSecond: number
  /** User rows 1..users are updated in turn, in an order that jumps about. */
  readonly users: number
  readonly factors: number
}

/** Said by the updating process: what it has sent so far. */
export interface RowUpdaterReport {
  readonly rows: number
  readonly seconds: number
}
