import { biasedRow } from '../../models/als/row.ts'
import type { AlsRowKind } from '../../models/als/row-key.ts'

/** What variances are computed from. */
export interface RowVariancesParts {
  readonly users: readonly string[]
  readonly items: readonly string[]
  /** Factors and bias. */
  readonly unknowns: number
  /** Sweeps that count less the number of their blocks, at least one. */
  readonly degrees: number
  /** Of the draws of each side's rows, as `BmfSide.moments`. */
  readonly moments: Readonly<Record<AlsRowKind, Float32Array>>
}

/**
 * Posterior variances of the floats of served rows: the variance of the draws after burn-in around the means of their
 * blocks of sweeps, so that the slow turning of the latent axes does not count. They have the places of the row's floats; the variance of its constant 1 is 0.
 */
export class RowVariances {
  readonly users: readonly string[]
  readonly items: readonly string[]
  private readonly parts: RowVariancesParts

  constructor(parts: RowVariancesParts) {
    this.users = parts.users
    this.items = parts.items
    this.parts = parts
  }

  /** The variances of row number `index` of a kind, in the order of `users` or `items`. */
  row(kind: AlsRowKind, index: number): Float32Array {
    const { unknowns, degrees, moments } = this.parts
    const start = (2 * index + 1) * unknowns
    const squares = moments[kind].subarray(start, start + unknowns)
    const variances = squares.map((square) => square / degrees)
    const row = biasedRow(kind, variances.subarray(0, -1), variances[unknowns - 1]!, 0)
    row[kind === 'U' ? unknowns : unknowns - 1] = 0
    return row
  }
}
