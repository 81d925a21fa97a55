import { randomStreams } from '../../core/random.ts'
import type { AlsRowKind } from '../../models/als/row-key.ts'
import { varianceRow } from '../../models/als/row-variance.ts'
import { matrixOf } from '../als/solver/sides.ts'
import type { AlsSideName } from '../als/solver/solver.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import type { BmfShare } from './drawing/share.ts'

/** Rows of the other side with which the scores of a row are drawn. */
const PARTNERS = 32
/** Stream of the choice of partners; those of sweeps begin with 2. */
const PARTNER_STREAM = 1

/** What a chain stores of the variances, all empty where they are not measured. */
export interface ScoreMoments {
  /**
   * Of the scores of each row with its partners, `[rows x 2 x PARTNERS]`: the means over the sweeps that count, then the
   * sums of squares around them (Welford).
   */
  readonly userMoments: Float32Array
  readonly itemMoments: Float32Array
  /** Mean variance of a rating of each user around its score. */
  readonly userNoise: Float32Array
}

/**
 * Variances of the scores of a chain over its sweeps. A score does not change where the latent axes turn or both sides
 * share their scale otherwise, so its variance settles, however long the chain is; that of the floats of a row does not.
 *
 * Each row is scored with the same few partners, which are drawn as the ratings are: an item with many ratings is a
 * partner more often. The variance of a score is then the sum of a part of the user and one of the item.
 */
export class ScoreDraws {
  private readonly share: BmfShare
  private readonly partners: Readonly<Record<AlsSideName, Uint32Array>>
  private readonly moments: ScoreMoments

  constructor(share: BmfShare, { user, item, size }: RatingsTable) {
    this.share = share
    const random = randomStreams(share.seed)
    random.seek(PARTNER_STREAM, 0)
    const chosen = Uint32Array.from({ length: PARTNERS }, () => random.below(size))
    this.partners = {
      users: chosen.map((rating) => user[rating]!),
      items: chosen.map((rating) => item[rating]!),
    }
    this.moments = {
      userMoments: new Float32Array(share.users.rows * 2 * PARTNERS),
      itemMoments: new Float32Array(share.items.rows * 2 * PARTNERS),
      userNoise: new Float32Array(share.users.rows),
    }
  }

  /** What a stored state has; views of the arrays that grow. */
  get state(): ScoreMoments {
    return this.moments
  }

  /** Continues from a stored state. */
  resume({ userMoments, itemMoments, userNoise }: ScoreMoments): void {
    this.moments.userMoments.set(userMoments)
    this.moments.itemMoments.set(itemMoments)
    this.moments.userNoise.set(userNoise)
  }

  /** Adds the draws of a sweep: number `kept` of those that count, with this precision of a rating of weight 1. */
  add(kept: number, precision: number): void {
    const { userMoments, itemMoments, userNoise } = this.moments
    this.addScores('users', 'items', userMoments, kept)
    this.addScores('items', 'users', itemMoments, kept)
    for (const [user, root] of this.share.userRoots.entries()) {
      userNoise[user]! += (1 / (precision * root ** 2) - userNoise[user]!) / kept
    }
  }

  private addScores(
    own: AlsSideName,
    other: AlsSideName,
    moments: Float32Array,
    kept: number,
  ): void {
    const { share } = this
    const stride = share.strideBytes / 4
    const others = this.partnersOf(other)
    const rows = matrixOf(share, share[own])
    for (let row = 0, at = 0; row < rows.length; row += stride) {
      for (let partner = 0; partner < others.length; partner += share.unknowns, at++) {
        const score = scoreOf(rows, row, others, partner, share.unknowns)
        const before = score - moments[at]!
        moments[at]! += before / kept
        moments[at + PARTNERS]! += before * (score - moments[at]!)
      }
      at += PARTNERS
    }
  }

  /** Factors and bias of the partners of a side, `[PARTNERS x unknowns]`. */
  private partnersOf(side: AlsSideName): Float64Array {
    const { share, partners } = this
    const { unknowns } = share
    const stride = share.strideBytes / 4
    const rows = matrixOf(share, share[side])
    const gathered = new Float64Array(PARTNERS * unknowns)
    for (const [i, partner] of partners[side].entries()) {
      const from = partner * stride
      gathered.set(rows.subarray(from, from + unknowns - 1), i * unknowns)
      gathered[(i + 1) * unknowns - 1] = rows[from + unknowns]!
    }
    return gathered
  }

  /** The variances after `kept` sweeps that count, at least 2. */
  variances({ users, items }: Pick<RatingsTable, 'users' | 'items'>, kept: number): RowVariances {
    const { userMoments, itemMoments, userNoise } = this.moments
    const ofUsers = sideVariances(userMoments, kept)
    const ofItems = sideVariances(itemMoments, kept)
    // The variance that a partner has with a partner is in the mean of a row of either side.
    const shared =
      (meanAt(ofUsers.rows, this.partners.users) + meanAt(ofItems.rows, this.partners.items)) / 4
    const part = (variance: number): number => Math.max(0, variance - shared)
    return new RowVariances({
      users,
      items,
      parts: {
        U: ofUsers.rows.map((variance, user) => part(variance) + userNoise[user]!),
        I: ofItems.rows.map(part),
      },
      cold: { user: part(ofUsers.cold) + mean(userNoise), item: part(ofItems.cold) },
    })
  }
}

/** Parts of the variance of a rating: noise and the user's part of its score's, and the item's part. */
export interface VarianceParts {
  readonly users: readonly string[]
  readonly items: readonly string[]
  readonly parts: Readonly<Record<AlsRowKind, Float64Array>>
  /** Those of a user and an item without a row, whose factors are those of the mean row. */
  readonly cold: { readonly user: number; readonly item: number }
}

/**
 * Rows of variances of the users and items of a training (`models/als/row-variance.ts`).
 */
export class RowVariances {
  readonly users: readonly string[]
  readonly items: readonly string[]
  /** Parts of a user and an item that training has not seen, whose factors are those of the mean row. */
  readonly cold: VarianceParts['cold']
  private readonly parts: VarianceParts['parts']
  private numbers: Readonly<Record<AlsRowKind, ReadonlyMap<string, number>>> | undefined

  constructor({ users, items, cold, parts }: VarianceParts) {
    this.users = users
    this.items = items
    this.cold = cold
    this.parts = parts
  }

  /** The row number `index` of a kind, in the order of `users` or `items`. */
  row(kind: AlsRowKind, index: number): Float32Array {
    return varianceRow(kind, this.parts[kind][index]!)
  }

  /** The row of an id; undefined if training has not seen it. */
  rowOf(kind: AlsRowKind, id: string): Float32Array | undefined {
    this.numbers ??= { U: numbered(this.users), I: numbered(this.items) }
    const index = this.numbers[kind].get(id)
    return index === undefined ? undefined : this.row(kind, index)
  }
}

function numbered(ids: readonly string[]): ReadonlyMap<string, number> {
  return new Map(ids.map((id, index) => [id, index]))
}

/** Mean variance of the scores of each row with the partners, and of a row that is drawn from all. */
function sideVariances(
  moments: Float32Array,
  kept: number,
): { readonly rows: Float64Array; readonly cold: number } {
  const count = moments.length / (2 * PARTNERS)
  const rows = new Float64Array(count)
  const means = new Float64Array(PARTNERS)
  const squares = new Float64Array(PARTNERS)
  for (let row = 0, at = 0; row < count; row++, at += PARTNERS) {
    for (let partner = 0; partner < PARTNERS; partner++, at++) {
      const before = moments[at]! - means[partner]!
      means[partner]! += before / (row + 1)
      squares[partner]! += before * (moments[at]! - means[partner]!)
      rows[row]! += moments[at + PARTNERS]! / ((kept - 1) * PARTNERS)
    }
  }
  // The variance of a row that is not known: that within a row, and that of the rows.
  return { rows, cold: mean(rows) + mean(squares) / count }
}

function scoreOf(
  rows: Float32Array,
  row: number,
  others: Float64Array,
  other: number,
  unknowns: number,
): number {
  const factors = unknowns - 1
  // The bias is behind the constant 1.
  let score = rows[row + unknowns]! + others[other + factors]!
  for (let k = 0; k < factors; k++) score += rows[row + k]! * others[other + k]!
  return score
}

function mean(values: Float32Array | Float64Array): number {
  let sum = 0
  for (const value of values) sum += value
  return sum / values.length
}

function meanAt(values: Float64Array, rows: Uint32Array): number {
  return mean(Float64Array.from(rows, (row) => values[row]!))
}
