import type { Random } from '../../../core/random.ts'
import { factorPacked, packedLength } from '../../../models/als/small-symmetric.ts'
import { matrixOf } from '../../als/solver/sides.ts'
import type { AlsSideName } from '../../als/solver/solver.ts'
import { drawGamma, type RowDistribution, type SideSums } from '../drawing/hyperprior.ts'
import type { BmfShare } from '../drawing/share.ts'
import { type FeatureBlock, featuresOf } from './feature-block.ts'

/** What a stored state has of the regression of a side. */
export interface RegressionState {
  /** Weights of the features of all blocks, `[features x unknowns]`; empty without features. */
  readonly weights: Float32Array
  /** By block, the precision of a weight over that of a row. */
  readonly scales: readonly number[]
}

/** Precision of a weight over that of a row, before it is drawn. */
const FIRST_SCALE = 10

/**
 * The prior mean of the rows of a side as a regression on their features (Simm et al., "Macau: scalable Bayesian
 * multi-relational factorization with side information using MCMC", 2015):
 *
 *   x_r ~ N(m + sum of f_rj w_j, L^-1),   w_j ~ N(0, (s L)^-1)
 *
 * with one s for each block of features, so that 1 / sqrt(s) has a flat prior. A pass draws the weights one feature after the
 * other given all others: it costs two looks at each entry.
 */
export class PriorRegression {
  private readonly share: BmfShare
  private readonly side: AlsSideName
  private readonly blocks: readonly FeatureBlock[]
  private readonly weights: Float32Array
  private scales: number[]
  /** Of each row what its features explain, and what they do not, `[rows x unknowns]`. */
  private readonly explained: Float64Array
  private readonly residuals: Float64Array
  /** 1 for rows that have ratings: the others follow from the prior, and say nothing about it. */
  private readonly isRated: Uint8Array
  /** Of one feature, `[unknowns]`: sums, then the change of its weights; and normal numbers. */
  private readonly change: Float64Array
  private readonly noise: Float64Array

  constructor(share: BmfShare, side: AlsSideName, blocks: readonly FeatureBlock[]) {
    this.share = share
    this.side = side
    this.blocks = blocks
    const { unknowns } = share
    const { rows, offsets } = share[side]
    const features = blocks.reduce((sum, block) => sum + featuresOf(block), 0)
    this.weights = new Float32Array(features * unknowns)
    this.scales = blocks.map(() => FIRST_SCALE)
    this.explained = new Float64Array(rows * unknowns)
    this.residuals = new Float64Array(rows * unknowns)
    this.isRated = Uint8Array.from({ length: rows }, (_, row) =>
      offsets[row + 1]! > offsets[row]! ? 1 : 0,
    )
    this.change = new Float64Array(unknowns)
    this.noise = new Float64Array(unknowns)
  }

  /** What a stored state has; the array is that which is drawn. */
  get state(): RegressionState {
    return { weights: this.weights, scales: this.scales }
  }

  /** Continues from a stored state. */
  resume({ weights, scales }: RegressionState): void {
    this.weights.set(weights)
    this.scales = [...scales]
    this.setExplained()
  }

  /** Sums of what the features leave of the rows, and what the weights add to them. */
  sums(): SideSums {
    const { share, residuals, explained, isRated, weights } = this
    const n = share.unknowns
    const stride = share.strideBytes / 4
    const matrix = matrixOf(share, share[this.side])
    const sum = new Float64Array(n)
    const products = new Float64Array(n * n)
    let count = 0
    for (let row = 0, at = 0; row < isRated.length; row++, at += n) {
      for (let i = 0; i < n; i++) {
        // The bias is behind the constant 1.
        const place = row * stride + (i === n - 1 ? n : i)
        residuals[at + i] = matrix[place]! - explained[at + i]!
      }
      if (isRated[row] === 0) continue
      count++
      for (let i = 0; i < n; i++) sum[i]! += residuals[at + i]!
      addProducts(products, residuals, at, 1)
    }
    mirror(products, n)
    // Weights that were never drawn are no draws of their prior.
    const isDrawn = weights.some((weight) => weight !== 0)
    return { count, sum, products, ...(isDrawn ? { prior: this.weightSums() } : {}) }
  }

  private weightSums(): NonNullable<SideSums['prior']> {
    const { blocks, weights, scales } = this
    const n = this.share.unknowns
    const products = new Float64Array(n * n)
    for (let b = 0, at = 0; b < blocks.length; b++) {
      const end = at + featuresOf(blocks[b]!) * n
      for (; at < end; at += n) addProducts(products, weights, at, scales[b]!)
    }
    mirror(products, n)
    return { count: weights.length / n, products }
  }

  /** Draws weights and scales given the distribution of the rows, and writes the prior mean of each row to the share. */
  draw(distribution: RowDistribution, random: Random): void {
    const { residuals, explained, blocks } = this
    const { mean, precision } = distribution
    const n = this.share.unknowns
    // What the features explain before the draw, with the mean: the rows are the sum of both arrays.
    for (let at = 0; at < residuals.length; at += n) {
      for (let i = 0; i < n; i++) {
        explained[at + i]! += residuals[at + i]!
        residuals[at + i]! -= mean[i]!
      }
    }
    const root = packedRoot(precision, n)
    for (let b = 0, at = 0; b < blocks.length; b++) {
      const features = featuresOf(blocks[b]!)
      for (let j = 0; j < features; j++, at += n) {
        this.drawWeights({ block: b, column: j, at }, root, random)
      }
    }
    this.drawScales(precision, random)
    this.rescale(distribution, random)
    this.setExplained()
    const { priorMeans } = this.share[this.side]
    for (let at = 0; at < priorMeans.length; at += n) {
      for (let i = 0; i < n; i++) priorMeans[at + i] = mean[i]! + explained[at + i]!
    }
  }

  /** Draws the weights of one feature, which begin at `at`, and takes the change out of the residuals. */
  private drawWeights(
    { block, column, at }: { readonly block: number; readonly column: number; readonly at: number },
    root: Float64Array,
    random: Random,
  ): void {
    const { residuals, weights, isRated, change, noise } = this
    const n = change.length
    const { offsets, rows, values } = this.blocks[block]!
    const [from, end] = [offsets[column]!, offsets[column + 1]!]
    let squares = 0
    change.fill(0)
    for (let k = from; k < end; k++) {
      const row = rows[k]!
      if (isRated[row] === 0) continue
      const value = values[k]!
      squares += value * value
      for (let i = 0, place = row * n; i < n; i++) change[i]! += value * residuals[place + i]!
    }
    const evidence = squares + this.scales[block]!
    setNormals(noise, root, 1 / Math.sqrt(evidence), random)
    for (let i = 0; i < n; i++) {
      const before = weights[at + i]!
      weights[at + i] = (change[i]! + squares * before) / evidence + noise[i]!
      change[i] = weights[at + i]! - before
    }
    for (let k = from; k < end; k++) {
      const [place, value] = [rows[k]! * n, values[k]!]
      for (let i = 0; i < n; i++) residuals[place + i]! -= value * change[i]!
    }
  }

  /** Draws the scale of each block given its weights. */
  private drawScales(precision: Float64Array, random: Random): void {
    const n = this.share.unknowns
    let at = 0
    this.scales = this.blocks.map((block) => {
      const features = featuresOf(block)
      let squares = 0
      for (const end = at + features * n; at < end; at += n) {
        squares += quadratic(precision, this.weights, at, n)
      }
      const shape = Math.max(1, (features * n - 1) / 2)
      return drawGamma(shape, random) / Math.max(Number.MIN_VALUE, squares / 2)
    })
  }

  /**
   * Draws a factor of all weights given what they explain, with the scales so that the prior of the weights stays the same:
   * without this move the many weights hold the scales fast (Liu and Sabatti, "Generalised Gibbs sampler and multigrid Monte
   * Carlo for Bayesian computation", 2000).
   */
  private rescale({ mean, precision }: RowDistribution, random: Random): void {
    const { explained, residuals, isRated, weights } = this
    const n = this.share.unknowns
    let own = 0
    let both = 0
    for (let row = 0, at = 0; row < isRated.length; row++, at += n) {
      // The rows less mean and residuals.
      for (let i = 0; i < n; i++) explained[at + i]! -= mean[i]! + residuals[at + i]!
      if (isRated[row] === 0) continue
      for (let i = 0; i < n; i++) {
        let inner = 0
        for (let j = 0; j < n; j++) inner += precision[i * n + j]! * explained[at + j]!
        own += inner * explained[at + i]!
        both += inner * residuals[at + i]!
      }
    }
    if (!(own > 0)) return
    const factor = 1 + both / own + random.normal() / Math.sqrt(own)
    for (let i = 0; i < weights.length; i++) weights[i]! *= factor
    this.scales = this.scales.map((scale) => scale / factor ** 2)
  }

  /** What the weights explain of each row. */
  private setExplained(): void {
    const { explained, weights, blocks } = this
    const n = this.share.unknowns
    explained.fill(0)
    let at = 0
    for (const block of blocks) {
      const { offsets, rows, values } = block
      for (let j = 0; j < featuresOf(block); j++, at += n) {
        const end = offsets[j + 1]!
        for (let k = offsets[j]!; k < end; k++) {
          const [place, value] = [rows[k]! * n, values[k]!]
          for (let i = 0; i < n; i++) explained[place + i]! += value * weights[at + i]!
        }
      }
    }
  }
}

/** Adds weight x row row^T to the lower triangle. */
function addProducts(
  products: Float64Array,
  rows: Float64Array | Float32Array,
  at: number,
  weight: number,
): void {
  const n = Math.sqrt(products.length)
  for (let i = 0; i < n; i++) {
    const x = weight * rows[at + i]!
    for (let j = 0; j <= i; j++) products[i * n + j]! += x * rows[at + j]!
  }
}

/** Fills the upper triangle. */
function mirror(products: Float64Array, n: number): void {
  for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) products[j * n + i] = products[i * n + j]!
}

/** x^T M x of the row at a place. */
function quadratic(matrix: Float64Array, rows: Float32Array, at: number, n: number): number {
  let sum = 0
  for (let i = 0; i < n; i++) {
    let inner = 0
    for (let j = 0; j < n; j++) inner += matrix[i * n + j]! * rows[at + j]!
    sum += inner * rows[at + i]!
  }
  return sum
}

/** C of C C^T = matrix, packed, with the inverse of its diagonal. */
function packedRoot(matrix: Float64Array, n: number): Float64Array {
  const root = new Float64Array(packedLength(n))
  for (let i = 0, at = 0; i < n; i++) for (let j = 0; j <= i; j++) root[at++] = matrix[i * n + j]!
  if (!factorPacked(root, n)) throw new RangeError('the precision of the rows is not finite')
  return root
}

/** Fills in normal numbers with the covariance scale^2 (C C^T)^-1: C^-T e. */
function setNormals(x: Float64Array, root: Float64Array, scale: number, random: Random): void {
  for (let i = 0; i < x.length; i++) x[i] = scale * random.normal()
  for (let i = x.length - 1; i >= 0; i--) {
    const row = packedLength(i)
    x[i]! *= root[row + i]!
    for (let k = 0; k < i; k++) x[k]! -= root[row + k]! * x[i]!
  }
}
