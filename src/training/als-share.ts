import { WeirError } from '../core/errors.ts'
import { ALS_PANEL_ROWS, alsScratchBytes } from '../kernels/kernels.ts'
import { GRAM_PARTS, gramBytes } from './als-gram.ts'
import type { AlsSettings, PenaltyScaling } from './als-options.ts'
import type { RatingsTable } from './ratings-table.ts'

/**
 * What the threads of one training run share. Ratings of each side lie in SharedArrayBuffers; both
 * factor matrices and every worker's scratch in one WebAssembly memory, where the kernels work:
 *
 *   +------+-------------+-------------+--------+---------------------------------------------+
 *   | 1 KB | user matrix | item matrix | (Gram) | worker 0: scratch, u32 indexes, f32 ratings | ...
 *   +------+-------------+-------------+--------+---------------------------------------------+
 *
 * A matrix row is `strideBytes` (a multiple of 16): factors, then with biases the constant 1 and the
 * bias, then zeros. Indexes and ratings there are a copy of the chunk that is being solved. Implicit
 * feedback has room for one Gram matrix and its parts in between.
 */
export interface AlsShare {
  readonly memory: WebAssembly.Memory
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
  /** Address of worker 0's area, the scratch at its beginning, and the whole of it. */
  readonly workersAddress: number
  readonly scratchBytes: number
  readonly workerBytes: number
  /** Most ratings of one chunk. */
  readonly chunkRatings: number
  /** Present when feedback is implicit. */
  readonly implicit: AlsImplicitShare | undefined
  /** Number of the next chunk to solve: the workers' only meeting point. */
  readonly nextChunk: Int32Array
}

/** What implicit feedback needs besides. */
export interface AlsImplicitShare {
  /** A rating r has confidence 1 + alpha |r|. */
  readonly alpha: number
  /** Address of the Gram matrix of the side that is held fixed, and of the parts it is summed of. */
  readonly gramAddress: number
  readonly partsAddress: number
}

/** One side's rows: their ratings, and where their factors lie. */
export interface AlsSide {
  readonly rows: number
  /** Address of its matrix. */
  readonly address: number
  /** Ratings of row r are those from offsets[r] to offsets[r + 1]. */
  readonly offsets: Uint32Array
  /** Rows of the other side, and the ratings. */
  readonly indexes: Uint32Array
  readonly ratings: Float32Array
  /** First row of each chunk, then the number of rows. */
  readonly chunks: Uint32Array
  /** Each row's part of the objective (errors and penalty) and of the penalty. */
  readonly objective: Float64Array
  readonly penalties: Float64Array
}

const FIRST_ADDRESS = 1024
const PAGE_BYTES = 65536
const MAX_PAGES = 65536
/** Ratings per chunk: small enough to balance threads, large enough to hide the counter. */
const CHUNK_RATINGS = 16384

const alignUp = (bytes: number): number => Math.ceil(bytes / 64) * 64

/** Sorts the table by both sides and lays out the memory. Throws INVALID_ARGUMENT beyond 4 GiB. */
export function alsShare(table: RatingsTable, settings: AlsSettings, mean: number): AlsShare {
  const unknowns = settings.factors + (settings.biases ? 1 : 0)
  const strideBytes = Math.ceil((settings.factors + (settings.biases ? 2 : 0)) / 4) * 16
  const itemsAddress = FIRST_ADDRESS + alignUp(table.users.length * strideBytes)
  const gramAddress = itemsAddress + alignUp(table.items.length * strideBytes)
  const gramSize = alignUp(gramBytes(unknowns))
  const isImplicit = settings.feedback === 'implicit'
  const workersAddress =
    gramAddress + (isImplicit ? gramSize + alignUp(GRAM_PARTS * gramBytes(unknowns)) : 0)
  const { users, items } = sides(table, FIRST_ADDRESS, itemsAddress)
  const chunkRatings = Math.max(largestChunk(users), largestChunk(items), ALS_PANEL_ROWS)
  const scratchBytes = alignUp(alsScratchBytes(unknowns))
  const workerBytes = scratchBytes + alignUp(chunkRatings * 8)
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
    workerBytes,
    chunkRatings,
    implicit: isImplicit
      ? { alpha: settings.alpha, gramAddress, partsAddress: gramAddress + gramSize }
      : undefined,
    nextChunk: new Int32Array(new SharedArrayBuffer(4)),
  }
}

function allocate(bytes: number): WebAssembly.Memory {
  const pages = Math.ceil(bytes / PAGE_BYTES)
  if (pages > MAX_PAGES) {
    const gigabytes = (bytes / 2 ** 30).toFixed(1)
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the factors need ${gigabytes} GiB, at most 4 are possible; use fewer factors or users`,
    )
  }
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
}

/** Ratings in columns: a row of the one side, a row of the other, the rating. */
interface RatingColumns {
  readonly row: Uint32Array
  readonly other: Uint32Array
  readonly rating: Float32Array
}

/**
 * Both sides, the ratings of a row in the order of the other side's rows: a solve then passes over
 * the other matrix in one direction, and finds most of its pages translated.
 */
function sides(
  { user, item, rating, users, items }: RatingsTable,
  usersAddress: number,
  itemsAddress: number,
): { users: AlsSide; items: AlsSide } {
  const unordered = sorted({ row: user, other: item, rating }, users.length)
  const byItem = sorted(transposed(unordered), items.length)
  const byUser = sorted(transposed(byItem), users.length)
  return { users: side(byUser, usersAddress), items: side(byItem, itemsAddress) }
}

/** Ratings sorted by their row: those of row r are from offsets[r] to offsets[r + 1]. */
type SortedRatings = Pick<AlsSide, 'offsets' | 'indexes' | 'ratings'>

/** The same ratings, rows and other side's rows exchanged. */
function transposed({ offsets, indexes, ratings }: SortedRatings): RatingColumns {
  const other = new Uint32Array(indexes.length)
  for (let r = 0; r + 1 < offsets.length; r++) other.fill(r, offsets[r], offsets[r + 1])
  return { row: indexes, other, rating: ratings }
}

/** Counting sort of the ratings by their row; within a row they keep their order. */
function sorted({ row, other, rating }: RatingColumns, rows: number): SortedRatings {
  const offsets = new Uint32Array(new SharedArrayBuffer((rows + 1) * 4))
  for (const r of row) offsets[r + 1] = (offsets[r + 1] as number) + 1
  for (let r = 0; r < rows; r++)
    offsets[r + 1] = (offsets[r + 1] as number) + (offsets[r] as number)
  const next = offsets.slice()
  const indexes = new Uint32Array(new SharedArrayBuffer(row.length * 4))
  const ratings = new Float32Array(new SharedArrayBuffer(row.length * 4))
  for (let k = 0; k < row.length; k++) {
    const r = row[k] as number
    const at = next[r] as number
    next[r] = at + 1
    indexes[at] = other[k] as number
    ratings[at] = rating[k] as number
  }
  return { offsets, indexes, ratings }
}

function side({ offsets, indexes, ratings }: SortedRatings, address: number): AlsSide {
  const rows = offsets.length - 1
  return {
    rows,
    address,
    offsets,
    indexes,
    ratings,
    chunks: chunksOf(offsets, rows),
    objective: new Float64Array(new SharedArrayBuffer(rows * 8)),
    penalties: new Float64Array(new SharedArrayBuffer(rows * 8)),
  }
}

function chunksOf(offsets: Uint32Array, rows: number): Uint32Array {
  const starts = [0]
  for (let r = 1; r < rows; r++) {
    const first = offsets[starts.at(-1) as number] as number
    if ((offsets[r + 1] as number) - first > CHUNK_RATINGS) starts.push(r)
  }
  const chunks = new Uint32Array(new SharedArrayBuffer((starts.length + 1) * 4))
  chunks.set(starts)
  chunks[starts.length] = rows
  return chunks
}

function largestChunk(side: AlsSide): number {
  let largest = 0
  for (let c = 0; c + 1 < side.chunks.length; c++) {
    const first = side.offsets[side.chunks[c] as number] as number
    const last = side.offsets[side.chunks[c + 1] as number] as number
    largest = Math.max(largest, last - first)
  }
  return largest
}

/** A side's matrix as float32, `strideBytes / 4` a row. */
export function matrixOf(share: AlsShare, side: AlsSide): Float32Array {
  return new Float32Array(share.memory.buffer, side.address, (side.rows * share.strideBytes) / 4)
}
