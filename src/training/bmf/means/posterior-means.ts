import type { BmfShare } from '../drawing/share.ts'
import { type MeanRows, meanProduct } from './mean-product.ts'

/**
 * Sweeps whose rows are averaged float by float. The latent axes turn slowly and the share of the scale between both
 * sides drifts, which hardly shows within so many sweeps; over hundreds the mean of each side shrinks, and their
 * product is no longer the mean score.
 */
export const BLOCK_SWEEPS = 24

/** The sweeps that count of a chain. */
export interface KeptSweeps {
  /** Number of those up to a sweep; 0 in burn-in. */
  readonly kept: number
  /** Number of the sweep in its block, from 1; 0 in burn-in. */
  readonly inBlock: number
}

/** Where a sweep lies among those that count. */
export function keptSweeps(sweep: number, burnIn: number): KeptSweeps {
  const kept = Math.max(0, sweep - burnIn)
  return { kept, inBlock: kept === 0 ? 0 : ((kept - 1) % BLOCK_SWEEPS) + 1 }
}

/** What `PosteriorMeans` has of the blocks that are closed; both empty before the first one is. */
export type ClosedMeans = Pick<MeanRows, 'users' | 'items'>

/**
 * Rows whose scores are the mean of the scores of a chain's sweeps: within a block the means of the rows, which the
 * share has, and over the blocks the means of their scores (`meanProduct`).
 */
export class PosteriorMeans {
  private readonly share: BmfShare
  private readonly burnIn: number
  private closed: MeanRows | undefined

  constructor(share: BmfShare, burnIn: number) {
    this.share = share
    this.burnIn = burnIn
  }

  /** Closes the block that ends with this sweep, if one does. */
  endSweep(sweep: number): void {
    if (keptSweeps(sweep, this.burnIn).inBlock !== BLOCK_SWEEPS) return
    const { users, items, sweeps } = this.rows(sweep)
    this.closed = { users: users.slice(), items: items.slice(), sweeps }
  }

  /** The rows after a sweep that counts. Their arrays are valid until the next phase. */
  rows(sweep: number): MeanRows {
    const { kept, inBlock } = keptSweeps(sweep, this.burnIn)
    if (this.closed?.sweeps === kept) return this.closed
    const { users, items, unknowns } = this.share
    const block = { users: users.means, items: items.means, sweeps: inBlock }
    return this.closed === undefined ? block : meanProduct(this.closed, block, unknowns)
  }

  /** What a stored state has beside the share. */
  get state(): ClosedMeans {
    return this.closed ?? { users: new Float32Array(0), items: new Float32Array(0) }
  }

  /** Continues after a sweep of a stored chain. */
  resume(sweep: number, { users, items }: ClosedMeans): void {
    const { kept } = keptSweeps(sweep, this.burnIn)
    const sweeps = kept - (kept % BLOCK_SWEEPS)
    if (sweeps > 0) this.closed = { users: users.slice(), items: items.slice(), sweeps }
  }
}
