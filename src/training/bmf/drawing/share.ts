import { alsScratchBytes, alsWidth } from '../../../core/kernels/kernels.ts'
import type { WasmMemory } from '../../../core/lifetime/wasm-memory.ts'
import { GRAM_PARTS } from '../../als/solver/share.ts'
import {
  type AlsSide,
  alignUp,
  allocate,
  FIRST_ADDRESS,
  ratingSides,
} from '../../als/solver/sides.ts'
import type { AlsSideName } from '../../als/solver/solver.ts'
import type { RatingsTable } from '../../data/ratings-table.ts'

/** Rows of one side, and the running means of their distributions. */
export interface BmfSide extends AlsSide {
  /** Means of the rows over the sweeps of a block, `[rows x unknowns]`, the bias last. */
  readonly means: Float32Array
  /** Mean of each row's prior, `[rows x unknowns]`; empty without features, where all rows have one. */
  readonly priorMeans: Float32Array
}

/**
 * Shared data of the threads of one chain: the ratings and matrices of ALS (`als/solver/sides.ts`), all
 * rows with biases, and in the same WebAssembly memory
 *
 *   +------+-------------+-------------+-------+-------+-------+-------------------------------+
 *   | 1 KB | user matrix | item matrix | parts | prior | shift | worker 0: scratch, noise,     |
 *   |      |             |             |       |       |       | center, shift, u32 indexes,   |
 *   |      |             |             |       |       |       | ratings, roots of their weights | ...
 *   +------+-------------+-------------+-------+-------+-------+-------------------------------+
 *
 * The parts are those of the sum of products of a side's rows; prior and shift are those of `drawRow`.
 */
export interface BmfShare {
  readonly memory: WasmMemory
  readonly users: BmfSide
  readonly items: BmfSide
  readonly strideBytes: number
  /** Factors and bias. */
  readonly unknowns: number
  readonly mean: number
  readonly seed: number
  readonly partsAddress: number
  readonly priorAddress: number
  readonly shiftAddress: number
  readonly workersAddress: number
  readonly scratchBytes: number
  readonly workerBytes: number
  /** Largest number of ratings of a chunk. */
  readonly chunkRatings: number
  /** Root of each user's weight: of the precision of that user's ratings over the noise precision. */
  readonly userRoots: Float32Array
  /** Number of the next chunk or part; the only value that workers write concurrently. */
  readonly nextChunk: Int32Array
}

/** Settings that the layout and the draws depend on. */
export interface DrawingSettings {
  readonly factors: number
  /** Workers that get scratch; the calling thread counts as one. */
  readonly threads: number
  /** Sides whose rows have features. */
  readonly featured?: Readonly<Record<AlsSideName, boolean>>
  readonly seed: number
}

/** Sorts the table by both sides and lays out the memory; `weights` are those of its ratings by age. Throws INVALID_ARGUMENT above 4 GiB. */
export function bmfShare(
  table: RatingsTable,
  settings: DrawingSettings,
  mean: number,
  weights?: Float32Array,
): BmfShare {
  const unknowns = settings.factors + 1
  const strideBytes = Math.ceil((settings.factors + 2) / 4) * 16
  const width = alsWidth(unknowns)
  const itemsAddress = FIRST_ADDRESS + alignUp(table.users.length * strideBytes)
  const partsAddress = itemsAddress + alignUp(table.items.length * strideBytes)
  const priorAddress = partsAddress + alignUp((GRAM_PARTS * strideBytes ** 2) / 4)
  const shiftAddress = priorAddress + alignUp(4 * width * width)
  const workersAddress = shiftAddress + alignUp(4 * width)
  const { users, items, chunkRatings } = ratingSides(table, FIRST_ADDRESS, itemsAddress, weights)
  const scratchBytes = alignUp(alsScratchBytes(unknowns))
  const workerBytes = scratchBytes + 3 * alignUp(4 * width) + alignUp(chunkRatings * 12)
  return {
    memory: allocate(workersAddress + Math.max(1, settings.threads) * workerBytes),
    users: sideOf(users, unknowns, settings.featured?.users),
    items: sideOf(items, unknowns, settings.featured?.items),
    strideBytes,
    unknowns,
    mean,
    seed: settings.seed,
    partsAddress,
    priorAddress,
    shiftAddress,
    workersAddress,
    scratchBytes,
    workerBytes,
    chunkRatings,
    userRoots: sharedFloats(users.rows).fill(1),
    nextChunk: new Int32Array(new SharedArrayBuffer(4)),
  }
}

function sideOf(side: AlsSide, unknowns: number, isFeatured = false): BmfSide {
  const floats = side.rows * unknowns
  return {
    ...side,
    means: sharedFloats(floats),
    priorMeans: sharedFloats(isFeatured ? floats : 0),
  }
}

function sharedFloats(length: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(length * 4))
}
