/** Size of a generated ALS model. */
export interface ModelShape {
  readonly users: number
  readonly items: number
  /** Floats of a row. */
  readonly factors: number
}

/** The model of the predict benchmarks: 2 M users and 500 k items of 100 factors, 1 GB of state. */
export function servedShape(scale: number): ModelShape {
  return { users: scaled(2_000_000, scale), items: scaled(500_000, scale), factors: 100 }
}

/** A count at a scale, at least 1,000. */
export function scaled(count: number, scale: number): number {
  return Math.max(1000, Math.round(count * scale))
}

/** Rows of a model. */
export function rowsOf({ users, items }: ModelShape): number {
  return users + items
}

/** Bytes of a model's floats. */
export function bytesOf(shape: ModelShape): number {
  return rowsOf(shape) * shape.factors * 4
}
