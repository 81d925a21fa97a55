import { instantiateKernels } from '../../../core/kernels/instantiate.ts'
import { alsWidth, type Kernels, type RowDraw } from '../../../core/kernels/kernels.ts'
import { type RandomStreams, randomStreams } from '../../../core/random.ts'
import { sumGramPart } from '../../als/solver/gram.ts'
import { GRAM_PARTS } from '../../als/solver/share.ts'
import { alignUp } from '../../als/solver/sides.ts'
import type { AlsSideName } from '../../als/solver/solver.ts'
import type { TrainingParticipant } from '../../threads/training-threads.ts'
import type { BmfShare, BmfSide } from './share.ts'

/** Draw a side's rows. */
export interface BmfDrawTask {
  readonly kind: 'draw'
  readonly side: AlsSideName
  readonly sweep: number
  /** Standard deviation of a rating of weight 1 around its prediction. */
  readonly noise: number
  /** Number of the sweep in a block of those that count; 0 during burn-in. */
  readonly kept: number
  /** Whether the share must have the rows and means after it; those of a GPU stay there else. */
  readonly read: boolean
}

/** One phase of a sweep: sum the products of a side's rows, or draw its rows. */
export type BmfTask = { readonly kind: 'sums'; readonly side: AlsSideName } | BmfDrawTask

/** Number of the random streams of a side in a sweep. */
export function streamsOf(sweep: number, side: AlsSideName): number {
  return 2 * sweep + (side === 'users' ? 0 : 1)
}

/**
 * Draws rows of a shared chain in the calling thread. Each drawer takes chunks from a shared counter. A row
 * has a separate stream of random numbers in every sweep, so its draw is the same in every drawer.
 */
export class BmfDrawer implements TrainingParticipant<BmfTask> {
  private readonly share: BmfShare
  private readonly kernels: Kernels
  private readonly random: RandomStreams
  private readonly indexes: Uint32Array
  private readonly ratings: Float32Array
  private readonly roots: Float32Array
  private readonly noise: Float32Array
  private readonly center: Float32Array
  /** Shift of a row whose prior mean is its own. */
  private readonly shift: Float32Array
  private readonly prior: Float32Array
  private readonly draw: RowDraw

  /** `worker`: number of this drawer, 0 <= worker < threads. */
  constructor(share: BmfShare, worker: number) {
    this.share = share
    this.kernels = instantiateKernels(share.memory)
    this.random = randomStreams(share.seed)
    const { buffer } = share.memory
    const width = alsWidth(share.unknowns)
    const scratch = share.workersAddress + worker * share.workerBytes
    const noise = scratch + share.scratchBytes
    const center = noise + alignUp(4 * width)
    const shift = center + alignUp(4 * width)
    const indexes = shift + alignUp(4 * width)
    const ratings = indexes + share.chunkRatings * 4
    this.indexes = new Uint32Array(buffer, indexes, share.chunkRatings)
    const roots = ratings + share.chunkRatings * 4
    this.ratings = new Float32Array(buffer, ratings, share.chunkRatings)
    this.roots = new Float32Array(buffer, roots, share.chunkRatings)
    this.shift = new Float32Array(buffer, shift, width)
    this.prior = new Float32Array(buffer, share.priorAddress, width * width)
    this.noise = new Float32Array(buffer, noise, share.unknowns)
    this.center = new Float32Array(buffer, center, share.unknowns)
    this.draw = {
      row: 0,
      indexes,
      ratings,
      roots,
      count: 0,
      other: 0,
      strideBytes: share.strideBytes,
      unknowns: share.unknowns,
      mean: share.mean,
      prior: share.priorAddress,
      shift: share.shiftAddress,
      noise,
      center,
      scratch,
    }
  }

  run(task: BmfTask): void {
    if (task.kind === 'sums') this.sumProducts(this.share[task.side])
    else this.drawSide(task)
  }

  private sumProducts(side: BmfSide): void {
    const { kernels, share } = this
    const { partsAddress, strideBytes } = share
    for (;;) {
      const part = Atomics.add(share.nextChunk, 0, 1)
      if (part >= GRAM_PARTS) return
      sumGramPart(kernels, strideBytes, { side, part, partsAddress })
    }
  }

  /** Draws chunks of one side until none is left. */
  private drawSide(task: BmfDrawTask): void {
    const { share } = this
    const side = share[task.side]
    this.draw.shift = side.priorMeans.length > 0 ? this.shift.byteOffset : share.shiftAddress
    this.draw.other = task.side === 'users' ? share.items.address : share.users.address
    const chunkCount = side.chunks.length - 1
    for (;;) {
      const chunk = Atomics.add(share.nextChunk, 0, 1)
      if (chunk >= chunkCount) return
      const firstRow = side.chunks[chunk]!
      const endRow = side.chunks[chunk + 1]!
      const first = side.offsets[firstRow]!
      const end = side.offsets[endRow]!
      this.indexes.set(side.indexes.subarray(first, end))
      this.ratings.set(side.ratings.subarray(first, end))
      this.setRoots(task.side, firstRow, endRow)
      for (let row = firstRow; row < endRow; row++) this.drawRow(side, row, first, task)
    }
  }

  /** Writes the roots of the weights of a chunk's ratings: each has that of its user, times that of its age. */
  private setRoots(name: AlsSideName, firstRow: number, endRow: number): void {
    const { roots, indexes, share } = this
    const { offsets, weighted } = share[name]
    const first = offsets[firstRow]!
    const count = offsets[endRow]! - first
    if (name === 'items') {
      for (let k = 0; k < count; k++) roots[k] = share.userRoots[indexes[k]!]!
    } else {
      for (let row = firstRow; row < endRow; row++) {
        roots.fill(share.userRoots[row]!, offsets[row]! - first, offsets[row + 1]! - first)
      }
    }
    if (weighted === undefined) return
    for (let k = 0; k < count; k++) roots[k]! *= weighted.roots[first + k]!
  }

  private drawRow(side: BmfSide, row: number, chunkStart: number, task: BmfDrawTask): void {
    const { share, draw, noise, random } = this
    const from = side.offsets[row]!
    draw.row = side.address + row * share.strideBytes
    draw.indexes = this.indexes.byteOffset + (from - chunkStart) * 4
    draw.ratings = this.ratings.byteOffset + (from - chunkStart) * 4
    draw.roots = this.roots.byteOffset + (from - chunkStart) * 4
    draw.count = side.offsets[row + 1]! - from
    random.seek(streamsOf(task.sweep, task.side), row)
    for (let i = 0; i < noise.length; i++) noise[i] = task.noise * random.normal()
    if (side.priorMeans.length > 0) this.setShift(side.priorMeans, row)
    side.objective[row] = this.kernels.drawRow(draw)
    if (task.kept === 0) return
    this.addToMeans(side.means, row, task.kept)
  }

  /** The product of the precision of the prior and the mean of a row's own. */
  private setShift(priorMeans: Float32Array, row: number): void {
    const { prior, shift, share } = this
    const { unknowns } = share
    const width = alsWidth(unknowns)
    for (let i = 0; i < unknowns; i++) {
      let sum = 0
      for (let j = 0; j < unknowns; j++)
        sum += prior[i * width + j]! * priorMeans[row * unknowns + j]!
      shift[i] = sum
    }
  }

  /** Adds the mean of the row's distribution in this sweep to its mean over the block. */
  private addToMeans(means: Float32Array, row: number, kept: number): void {
    const { center } = this
    const start = row * center.length
    const weight = 1 / kept
    for (let i = 0; i < center.length; i++) {
      const mean = means[start + i]!
      means[start + i] = mean + (center[i]! - mean) * weight
    }
  }
}
