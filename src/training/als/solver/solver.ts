import { instantiateKernels } from '../../../kernels/instantiate.ts'
import type { AlsRowProblem, Kernels } from '../../../kernels/kernels.ts'
import type { TrainingParticipant } from '../../threads/training-threads.ts'
import { sumGramPart } from './gram.ts'
import { penaltyFactor } from './options.ts'
import { type AlsShare, GRAM_PARTS } from './share.ts'
import { type AlsSide, copyRatings } from './sides.ts'

/** The side whose rows a half iteration solves. */
export type AlsSideName = 'users' | 'items'

/** One phase of training: solve a side's rows, or sum its Gram matrix (implicit feedback). */
export interface AlsTask {
  readonly kind: 'solve' | 'gram'
  readonly side: AlsSideName
}

/**
 * Solves rows of a shared problem in the calling thread. Any number of solvers with different numbers
 * can run the same half iteration. Each takes chunks from a shared counter. The solution of a row
 * depends only on the other side, so it is the same in every solver.
 */
export class AlsSolver implements TrainingParticipant<AlsTask> {
  private readonly share: AlsShare
  private readonly kernels: Kernels
  private readonly indexes: Uint32Array
  private readonly ratings: Float32Array
  private readonly problem: AlsRowProblem

  /** `worker`: number of this solver, 0 <= worker < threads. */
  constructor(share: AlsShare, worker: number) {
    this.share = share
    this.kernels = instantiateKernels(share.memory)
    const scratch = share.workersAddress + worker * share.workerBytes
    const indexes = scratch + share.scratchBytes
    const ratings = indexes + share.chunkRatings * 4
    this.indexes = new Uint32Array(share.memory.buffer, indexes, share.chunkRatings)
    this.ratings = new Float32Array(share.memory.buffer, ratings, share.chunkRatings)
    this.problem = {
      row: 0,
      indexes,
      ratings,
      count: 0,
      other: 0,
      strideBytes: share.strideBytes,
      unknowns: share.unknowns,
      biased: share.biased,
      mean: share.mean,
      factorPenalty: 0,
      biasPenalty: 0,
      gram: share.implicit?.gramAddress ?? 0,
      alpha: share.implicit?.alpha ?? 0,
      scratch,
    }
  }

  run(task: AlsTask): void {
    if (task.kind === 'solve') this.solveSide(task.side)
    else this.sumGram(this.share[task.side])
  }

  /** Solves chunks of one side until none is left. */
  private solveSide(name: AlsSideName): void {
    const side = this.share[name]
    this.problem.other = name === 'users' ? this.share.items.address : this.share.users.address
    const chunkCount = side.chunks.length - 1
    for (;;) {
      const chunk = Atomics.add(this.share.nextChunk, 0, 1)
      if (chunk >= chunkCount) return
      this.solveChunk(side, side.chunks[chunk] as number, side.chunks[chunk + 1] as number)
    }
  }

  private sumGram(side: AlsSide): void {
    const { share, kernels } = this
    const { implicit } = share
    if (implicit === undefined) return
    const { partsAddress } = implicit
    for (;;) {
      const part = Atomics.add(share.nextChunk, 0, 1)
      if (part >= GRAM_PARTS) return
      sumGramPart(kernels, share.strideBytes, { side, part, partsAddress })
    }
  }

  private solveChunk(side: AlsSide, firstRow: number, endRow: number): void {
    const first = side.offsets[firstRow] as number
    const end = side.offsets[endRow] as number
    const { indexes, ratings } = this
    copyRatings(side, { first, end }, { indexes, ratings })
    for (let row = firstRow; row < endRow; row++) this.solveRow(side, row, first)
  }

  private solveRow(side: AlsSide, row: number, chunkStart: number): void {
    const { share, problem } = this
    const from = side.offsets[row] as number
    const count = (side.offsets[row + 1] as number) - from
    const factor = penaltyFactor(share.penalty, count)
    problem.row = side.address + row * share.strideBytes
    problem.indexes = this.indexes.byteOffset + (from - chunkStart) * 4
    problem.ratings = this.ratings.byteOffset + (from - chunkStart) * 4
    problem.count = count
    problem.factorPenalty = share.regularization * factor
    problem.biasPenalty = share.biasRegularization * factor
    side.objective[row] =
      share.cgSteps === 0
        ? this.kernels.alsSolveCholesky(problem)
        : this.kernels.alsSolveGradient(problem, share.cgSteps)
    side.penalties[row] = this.kernels.alsPenalty()
  }
}
