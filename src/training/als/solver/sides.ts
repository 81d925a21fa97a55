import { WeirError } from '../../../core/errors.ts'
import type { WasmMemory } from '../../../core/lifetime/wasm-memory.ts'
import type { RatingsTable } from '../../data/ratings-table.ts'
import { readAhead } from '../../spill/nameless-file.ts'
import type { SpilledFiles, SpilledRatings, SpilledSide } from '../../spill/spilled-ratings.ts'

/** Rows of one side: their ratings, and the address of their factors. */
export interface AlsSide {
  readonly rows: number
  /** Address of its matrix. */
  readonly address: number
  /** Ratings of row r are those from offsets[r] to offsets[r + 1]. */
  readonly offsets: Uint32Array
  /** Rows of the other side, and the ratings; both empty if they are in files. */
  readonly indexes: Uint32Array
  readonly ratings: Float32Array
  /** Present when the ratings have weights. */
  readonly weighted?: RatingWeights
  /** Present when the ratings are in files. */
  readonly spilled?: { readonly files: SpilledFiles; readonly means: Float64Array }
  /** First row of each chunk, then the number of rows. */
  readonly chunks: Uint32Array
  /** Each row's part of the objective (errors and penalty) and of the penalty. */
  readonly objective: Float64Array
  readonly penalties: Float64Array
}

/** Weights of the ratings of a side. */
export interface RatingWeights {
  /** Root of the weight of each rating, in the order of the ratings. */
  readonly roots: Float32Array
  /** Sum of the weights of each row. */
  readonly sums: Float64Array
}

/** How many ratings a row counts as: the sum of their weights. */
export function evidenceOf({ offsets, weighted }: AlsSide, row: number): number {
  return weighted === undefined ? offsets[row + 1]! - offsets[row]! : weighted.sums[row]!
}

/** Number of ratings that each row stands for; of weighted ones rounded, and at least 1. */
export function ratingCounts({ offsets, weighted }: AlsSide): Uint32Array {
  if (weighted !== undefined)
    return Uint32Array.from(weighted.sums, (sum) => Math.max(1, Math.round(sum)))
  return offsets.subarray(1).map((end, row) => end - offsets[row]!)
}

/** Address of the user matrix. */
export const FIRST_ADDRESS = 1024
const PAGE_BYTES = 65536
const MAX_PAGES = 65536
/** Ratings per chunk: few enough to balance threads, many enough to make the counter cheap. */
const CHUNK_RATINGS = 16384

/** Bytes rounded up to the next multiple of 64. */
export const alignUp = (bytes: number): number => Math.ceil(bytes / 64) * 64

/** Shared memory of at least `bytes` bytes. Throws INVALID_ARGUMENT above 4 GiB. */
export function allocate(bytes: number): WasmMemory {
  const pages = Math.ceil(bytes / PAGE_BYTES)
  if (pages > MAX_PAGES) {
    const gigabytes = (bytes / 2 ** 30).toFixed(1)
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the factors need ${gigabytes} GiB, and the limit is 4; use fewer factors or users`,
    )
  }
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
}

/** Ratings to train on: in memory, or in files. */
export type RatingsSource = RatingsTable | SpilledRatings

/** Both sides of ratings, and the largest number of ratings of a chunk. */
export interface RatingSides {
  readonly users: AlsSide
  readonly items: AlsSide
  readonly chunkRatings: number
}

/** Both sides of ratings in memory or in files, with their matrices at these addresses. */
export function sidesOf(
  source: RatingsSource,
  usersAddress: number,
  itemsAddress: number,
  weights?: Float32Array,
): RatingSides {
  if (!('sides' in source)) return ratingSides(source, usersAddress, itemsAddress, weights)
  const { users, items } = source.sides
  return withChunks(spilledSide(users, usersAddress), spilledSide(items, itemsAddress))
}

/** Ratings `first` to `end` of a side. */
export interface RatingSpan {
  readonly first: number
  readonly end: number
}

/** Where ratings are copied to: rows of the other side, and the ratings. */
export interface RatingBuffer {
  readonly indexes: Uint32Array
  readonly ratings: Float32Array
  /** Roots of their weights; empty where they have none. */
  readonly roots: Float32Array
}

/** Copies ratings of a side in memory. */
export function copyRatings(side: AlsSide, { first, end }: RatingSpan, to: RatingBuffer): void {
  to.indexes.set(side.indexes.subarray(first, end))
  to.ratings.set(side.ratings.subarray(first, end))
  if (side.weighted !== undefined) to.roots.set(side.weighted.roots.subarray(first, end))
}

/** Copies ratings of a side in files, while the thread does other things. */
export async function readRatings(
  files: SpilledFiles,
  { first, end }: RatingSpan,
  to: Omit<RatingBuffer, 'roots'>,
): Promise<void> {
  await Promise.all([
    readAhead(files.indexes, bytesOf(to.indexes, end - first), first * 4),
    readAhead(files.ratings, bytesOf(to.ratings, end - first), first * 4),
  ])
}

function bytesOf({ buffer, byteOffset }: Uint32Array | Float32Array, count: number): Uint8Array {
  return new Uint8Array(buffer, byteOffset, count * 4)
}

/** Ratings in columns: a row of the one side, a row of the other, the rating, the root of its weight (empty: none). */
interface RatingColumns {
  readonly row: Uint32Array
  readonly other: Uint32Array
  readonly rating: Float32Array
  readonly root: Float32Array
}

/**
 * Both sides, with the ratings of a row in the order of the other side's rows. A solve then reads the
 * other matrix in one direction, and most of its pages are in the address cache. `chunkRatings` is the
 * largest number of ratings of a chunk. `weights`: of the ratings, in their order; without it, all have weight 1.
 */
export function ratingSides(
  { user, item, rating, users, items }: RatingsTable,
  usersAddress: number,
  itemsAddress: number,
  weights: Float32Array = NO_WEIGHTS,
): RatingSides {
  const root = weights.map(Math.sqrt)
  const unordered = sorted({ row: user, other: item, rating, root }, users.length)
  const byItem = sorted(transposed(unordered), items.length)
  const byUser = sorted(transposed(byItem), users.length)
  return withChunks(side(byUser, usersAddress), side(byItem, itemsAddress))
}

const NO_WEIGHTS = new Float32Array(0)

function withChunks(users: AlsSide, items: AlsSide): RatingSides {
  const chunkRatings = Math.max(largestChunk(users), largestChunk(items))
  return { users, items, chunkRatings }
}

function spilledSide({ offsets, files, means }: SpilledSide, address: number): AlsSide {
  const none = { indexes: new Uint32Array(0), ratings: new Float32Array(0), roots: NO_WEIGHTS }
  return { ...side({ offsets, ...none }, address), spilled: { files, means } }
}

/** Ratings sorted by their row: those of row r are from offsets[r] to offsets[r + 1]. */
type SortedRatings = Pick<AlsSide, 'offsets' | 'indexes' | 'ratings'> & RatingRoots

type RatingRoots = Pick<RatingWeights, 'roots'>

/** The same ratings with both sides exchanged. */
function transposed({ offsets, indexes, ratings, roots }: SortedRatings): RatingColumns {
  const other = new Uint32Array(indexes.length)
  for (let r = 0; r + 1 < offsets.length; r++) other.fill(r, offsets[r], offsets[r + 1])
  return { row: indexes, other, rating: ratings, root: roots }
}

/** Ratings sorted by row (counting sort); within a row they keep their order. */
function sorted({ row, other, rating, root }: RatingColumns, rows: number): SortedRatings {
  const offsets = new Uint32Array(new SharedArrayBuffer((rows + 1) * 4))
  for (const r of row) offsets[r + 1] = (offsets[r + 1] as number) + 1
  for (let r = 0; r < rows; r++)
    offsets[r + 1] = (offsets[r + 1] as number) + (offsets[r] as number)
  const next = offsets.slice()
  const indexes = new Uint32Array(new SharedArrayBuffer(row.length * 4))
  const ratings = new Float32Array(new SharedArrayBuffer(row.length * 4))
  const roots = new Float32Array(new SharedArrayBuffer(root.length * 4))
  for (let k = 0; k < row.length; k++) {
    const r = row[k] as number
    const at = next[r] as number
    next[r] = at + 1
    indexes[at] = other[k] as number
    ratings[at] = rating[k] as number
    if (root.length > 0) roots[at] = root[k] as number
  }
  return { offsets, indexes, ratings, roots }
}

function side({ offsets, indexes, ratings, roots }: SortedRatings, address: number): AlsSide {
  const rows = offsets.length - 1
  return {
    rows,
    address,
    offsets,
    indexes,
    ratings,
    ...(roots.length === 0 ? {} : { weighted: { roots, sums: weightSums(offsets, roots) } }),
    chunks: chunksOf(offsets, rows),
    objective: new Float64Array(new SharedArrayBuffer(rows * 8)),
    penalties: new Float64Array(new SharedArrayBuffer(rows * 8)),
  }
}

/** Sum of the weights of each row, in the order of its ratings. */
function weightSums(offsets: Uint32Array, roots: Float32Array): Float64Array {
  const sums = new Float64Array(new SharedArrayBuffer((offsets.length - 1) * 8))
  for (let row = 0; row < sums.length; row++) {
    for (let k = offsets[row]!; k < offsets[row + 1]!; k++) sums[row]! += roots[k]! ** 2
  }
  return sums
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

/** Ratings of the row with most of them. */
export function longestRow({ offsets, rows }: AlsSide): number {
  let longest = 0
  for (let r = 0; r < rows; r++) {
    longest = Math.max(longest, (offsets[r + 1] as number) - (offsets[r] as number))
  }
  return longest
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

/** The matrix of a side, `[rows x strideBytes / 4]`. */
export function matrixOf(
  share: { readonly memory: WasmMemory; readonly strideBytes: number },
  side: AlsSide,
): Float32Array {
  return new Float32Array(share.memory.buffer, side.address, (side.rows * share.strideBytes) / 4)
}
