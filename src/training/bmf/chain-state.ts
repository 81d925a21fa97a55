import { createHash } from 'node:crypto'
import type { FeatureTable } from '../data/feature-table.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import type { ScoreMoments } from './score-variances.ts'

/** State of a chain between two sweeps. Random numbers are no part of it: they follow from the sweep. */
export interface ChainState extends ScoreMoments {
  /** Digest of settings and ratings: a chain continues only with the same ones. */
  readonly fingerprint: string
  /** Sweeps done. */
  readonly sweep: number
  /** Precision of the noise. */
  readonly precision: number
  /** Draws, `[rows x stride]`, and means over the sweeps of a block, `[rows x unknowns]`. */
  readonly userRows: Float32Array
  readonly itemRows: Float32Array
  readonly userMeans: Float32Array
  readonly itemMeans: Float32Array
  /** Roots of the weights of each user's ratings. */
  readonly userRoots: Float32Array
  /** Regressions of the prior means (`RegressionState`): weights, empty without features, and scales of both sides. */
  readonly userWeights: Float32Array
  readonly itemWeights: Float32Array
  readonly userScales: readonly number[]
  readonly itemScales: readonly number[]
  /** Rows of the blocks before (`PosteriorMeans.state`), `[rows x unknowns]`; empty in the first one. */
  readonly closedUsers: Float32Array
  readonly closedItems: Float32Array
}

/** Keeps the newest state of a chain. */
export interface ChainStore {
  /** The stored state; undefined if there is none. Throws if it is of another chain or damaged. */
  load(fingerprint: string): Promise<ChainState | undefined>
  /** Replaces the stored state, so that after a crash one of both is whole. */
  save(state: ChainState): Promise<void>
}

/** Settings that a chain depends on. */
export interface ChainSettings {
  readonly factors: number
  readonly burnIn: number
  readonly seed: number
  readonly variance: boolean
  readonly halfLifeMs?: number | undefined
  readonly userFeatures?: FeatureTable | undefined
  readonly itemFeatures?: FeatureTable | undefined
  readonly whoRated?: boolean
}

/** Digest of what a chain depends on, without the number of sweeps: a chain may become longer. */
export function chainFingerprint(table: RatingsTable, settings: ChainSettings): string {
  const { factors, burnIn, seed, variance, halfLifeMs, whoRated } = settings
  const hash = createHash('sha256')
  hash.update(JSON.stringify([factors, burnIn, seed, table.users, table.items]))
  if (variance) hash.update('variance')
  if (whoRated === true) hash.update('who rated')
  for (const features of [settings.userFeatures, settings.itemFeatures]) {
    hash.update(
      features === undefined ? 'no features' : JSON.stringify([features.ids, features.names]),
    )
    for (const column of features === undefined
      ? []
      : [features.offsets, features.features, features.values]) {
      hash.update(column)
    }
  }
  if (halfLifeMs !== undefined) hash.update(`half-life ${halfLifeMs}`).update(table.timestamp)
  for (const column of [table.user, table.item, table.rating]) hash.update(column)
  return hash.digest('hex')
}
