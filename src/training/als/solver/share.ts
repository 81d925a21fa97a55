import { alsScratchBytes, alsWidth } from '../../../core/kernels/kernels.ts'
import type { WasmMemory } from '../../../core/lifetime/wasm-memory.ts'
import type { PenaltyScaling } from '../../../models/als/penalty.ts'
import type { AlsSettings } from './options.ts'
import {
  type AlsSide,
  alignUp,
  allocate,
  FIRST_ADDRESS,
  longestRow,
  type RatingsSource,
  sidesOf,
} from './sides.ts'

/**
 * Shared data of the threads of one training run. The ratings of each side are in SharedArrayBuffers or in files.
 * Both factor matrices and the scratch of every worker are in one WebAssembly memory for the kernels:
 *
 *   +------+-------------+-------------+--------+---------------------------------------------+
 *   | 1 KB | user matrix | item matrix | (Gram) | worker 0: scratch, u32 indexes, f32 ratings | ...
 *   +------+-------------+-------------+--------+---------------------------------------------+
 *
 * A matrix row has `strideBytes` (a multiple of 16): factors, then with biases the constant 1 and the
 * bias, then zeros. The indexes and ratings of a worker are a copy of the chunk that it solves; where the
 * ratings are in files there is a second pair of them for the next chunk. With implicit feedback there is
 * space for one Gram matrix and its parts.
 */
export interface AlsShare {
  readonly memory: WasmMemory
  readonly users: AlsSide
  readonly items: AlsSide
  readonly strideBytes: number
  readonly unknowns: number
  readonly biased: boolean
  readonly mean: number
  readonly regularization: number
  readonly biasRegularization: number
  readonly penalty: PenaltyScaling
  /** 0: exact solve; else conjugate gradient steps. */
  readonly cgSteps: number
  /** Address of the area of worker 0; size of its scratch, and of the whole area. */
  readonly workersAddress: number
  readonly scratchBytes: number
  /** Ratings that the panel of a worker holds (`AlsRowProblem`). */
  readonly panelRows: number
  readonly workerBytes: number
  /** Bytes of a rating in a worker's chunk: index and value, and the root of its weight where it has one. */
  readonly ratingBytes: number
  /** Largest number of ratings of a chunk, and of chunks whose ratings a worker holds. */
  readonly chunkRatings: number
  readonly chunkBuffers: number
  /** Present when feedback is implicit. */
  readonly implicit: AlsImplicitShare | undefined
  /** Number of the next chunk to solve; the only value that workers write concurrently. */
  readonly nextChunk: Int32Array
}

/** Additional data of implicit feedback. */
export interface AlsImplicitShare {
  /** A rating r has confidence 1 + alpha |r|. */
  readonly alpha: number
  /** Address of the Gram matrix of the fixed side, and of the parts of its sum. */
  readonly gramAddress: number
  readonly partsAddress: number
}

/**
 * Number of parts of the sum of a Gram matrix. The parts are fixed and added in order, so that the
 * result does not depend on the number of threads.
 */
export const GRAM_PARTS = 16

/** Bytes of one Gram matrix. */
function gramBytes(unknowns: number): number {
  return 4 * alsWidth(unknowns) ** 2
}

/** Bytes of the panel of one worker, and of all workers together, at most and but for one block. */
const PANEL_BYTES = 2 ** 25
const ALL_PANELS_BYTES = 2 ** 28

/**
 * Ratings of the panel of a worker: those of the longest row if there is space for them. The exact solve has no
 * such panel.
 */
function panelRowsOf(
  { users, items }: Pick<AlsShare, 'users' | 'items'>,
  { solver, threads }: AlsSettings,
  unknowns: number,
): number {
  const bytes = solver === 'cg' ? Math.min(PANEL_BYTES, ALL_PANELS_BYTES / Math.max(1, threads)) : 0
  const rows = Math.min(
    bytes / (4 * alsWidth(unknowns)),
    Math.max(longestRow(users), longestRow(items)),
  )
  return 8 * Math.max(1, Math.ceil(rows / 8))
}

/** Sorts ratings in memory by both sides and lays out the memory; `weights` are theirs. Throws INVALID_ARGUMENT above 4 GiB. */
export function alsShare(
  table: RatingsSource,
  settings: AlsSettings,
  mean: number,
  weights?: Float32Array,
): AlsShare {
  const unknowns = settings.factors + (settings.biases ? 1 : 0)
  const strideBytes = Math.ceil((settings.factors + (settings.biases ? 2 : 0)) / 4) * 16
  const itemsAddress = FIRST_ADDRESS + alignUp(table.users.length * strideBytes)
  const gramAddress = itemsAddress + alignUp(table.items.length * strideBytes)
  const gramSize = alignUp(gramBytes(unknowns))
  const isImplicit = settings.feedback === 'implicit'
  const workersAddress =
    gramAddress + (isImplicit ? gramSize + alignUp(GRAM_PARTS * gramBytes(unknowns)) : 0)
  const { users, items, chunkRatings } = sidesOf(table, FIRST_ADDRESS, itemsAddress, weights)
  const panelRows = panelRowsOf({ users, items }, settings, unknowns)
  const scratchBytes = alignUp(alsScratchBytes(unknowns, panelRows))
  const chunkBuffers = users.spilled === undefined ? 1 : 2
  const ratingBytes = users.weighted === undefined ? 8 : 12
  const workerBytes = scratchBytes + chunkBuffers * alignUp(chunkRatings * ratingBytes)
  return {
    memory: allocate(workersAddress + Math.max(1, settings.threads) * workerBytes),
    users,
    items,
    strideBytes,
    unknowns,
    biased: settings.biases,
    mean: settings.biases ? mean : 0,
    regularization: settings.regularization,
    biasRegularization: settings.biasRegularization,
    penalty: settings.penalty,
    cgSteps: settings.solver === 'cg' ? settings.cgSteps : 0,
    workersAddress,
    scratchBytes,
    panelRows,
    workerBytes,
    ratingBytes,
    chunkRatings,
    chunkBuffers,
    implicit: isImplicit
      ? { alpha: settings.alpha, gramAddress, partsAddress: gramAddress + gramSize }
      : undefined,
    nextChunk: new Int32Array(new SharedArrayBuffer(4)),
  }
}
