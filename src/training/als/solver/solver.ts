import { instantiateKernels } from '../../../core/kernels/instantiate.ts'
import type { AlsRowProblem, Kernels } from '../../../core/kernels/kernels.ts'
import { penaltyFactor } from '../../../models/als/penalty.ts'
import type { TrainingParticipant } from '../../threads/training-threads.ts'
import { sumGramPart } from './gram.ts'
import { type AlsShare, GRAM_PARTS } from './share.ts'
import {
  type AlsSide,
  alignUp,
  copyRatings,
  evidenceOf,
  type RatingBuffer,
  readRatings,
} from './sides.ts'

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
  private readonly buffers: readonly RatingBuffer[]
  private readonly problem: AlsRowProblem

  /** `worker`: number of this solver, 0 <= worker < threads. */
  constructor(share: AlsShare, worker: number) {
    this.share = share
    this.kernels = instantiateKernels(share.memory)
    const scratch = share.workersAddress + worker * share.workerBytes
    this.buffers = Array.from({ length: share.chunkBuffers }, (_, n) =>
      bufferAt(
        share,
        scratch + share.scratchBytes + n * alignUp(share.chunkRatings * share.ratingBytes),
      ),
    )
    this.problem = {
      row: 0,
      indexes: 0,
      ratings: 0,
      roots: 0,
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
      panelRows: share.panelRows,
    }
  }

  run(task: AlsTask): void | Promise<void> {
    const side = this.share[task.side]
    if (task.kind === 'gram') return this.sumGram(side)
    this.problem.other = task.side === 'users' ? this.share.items.address : this.share.users.address
    return side.spilled === undefined ? this.solveSide(side) : this.solveSpilled(side)
  }

  /** Solves chunks of one side until none is left. */
  private solveSide(side: AlsSide): void {
    const buffer = this.buffers[0]!
    for (let chunk = this.nextChunk(side); chunk !== undefined; chunk = this.nextChunk(side)) {
      copyRatings(side, chunk, buffer)
      this.solveChunk(side, chunk, buffer)
    }
  }

  /** The same with ratings in files: a chunk is read while the one before is solved. */
  private async solveSpilled(side: AlsSide): Promise<void> {
    let [now, next] = this.buffers as [RatingBuffer, RatingBuffer]
    let ahead = this.readNext(side, now)
    while (ahead !== undefined) {
      const { chunk, read } = ahead
      await read
      ahead = this.readNext(side, next)
      this.solveChunk(side, chunk, now)
      ;[now, next] = [next, now]
    }
  }

  private readNext(side: AlsSide, to: RatingBuffer): ChunkAhead | undefined {
    const chunk = this.nextChunk(side)
    if (chunk === undefined) return undefined
    return { chunk, read: readRatings(side.spilled!.files, chunk, to) }
  }

  /** Takes a chunk; undefined when none is left. */
  private nextChunk({ chunks, offsets }: AlsSide): Chunk | undefined {
    const number = Atomics.add(this.share.nextChunk, 0, 1)
    if (number + 1 >= chunks.length) return undefined
    const [firstRow, endRow] = [chunks[number]!, chunks[number + 1]!]
    return { firstRow, endRow, first: offsets[firstRow]!, end: offsets[endRow]! }
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

  private solveChunk(side: AlsSide, chunk: Chunk, buffer: RatingBuffer): void {
    for (let row = chunk.firstRow; row < chunk.endRow; row++) {
      this.solveRow(side, row, chunk.first, buffer)
    }
  }

  private solveRow(
    side: AlsSide,
    row: number,
    chunkStart: number,
    { indexes, ratings, roots }: RatingBuffer,
  ): void {
    const { share, problem } = this
    const from = side.offsets[row] as number
    const count = (side.offsets[row + 1] as number) - from
    const factor = penaltyFactor(share.penalty, evidenceOf(side, row))
    problem.row = side.address + row * share.strideBytes
    problem.indexes = indexes.byteOffset + (from - chunkStart) * 4
    problem.ratings = ratings.byteOffset + (from - chunkStart) * 4
    problem.roots = roots.length === 0 ? 0 : roots.byteOffset + (from - chunkStart) * 4
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

/** Rows that are solved together, and their ratings. */
interface Chunk {
  readonly firstRow: number
  readonly endRow: number
  readonly first: number
  readonly end: number
}

/** A chunk that is being read. */
interface ChunkAhead {
  readonly chunk: Chunk
  readonly read: Promise<void>
}

function bufferAt({ memory, chunkRatings, ratingBytes }: AlsShare, address: number): RatingBuffer {
  const weights = ratingBytes > 8 ? chunkRatings : 0
  return {
    indexes: new Uint32Array(memory.buffer, address, chunkRatings),
    ratings: new Float32Array(memory.buffer, address + chunkRatings * 4, chunkRatings),
    roots: new Float32Array(memory.buffer, address + chunkRatings * 8, weights),
  }
}
