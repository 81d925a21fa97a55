import type { WasmMemory } from '../lifetime/wasm-memory.ts'

/** Ratings that an exact solve gathers at a time; `assembly/als-row.as.ts` has the same number. */
const GRAM_ROWS = 512

/**
 * SIMD kernels over one shared WebAssembly memory. Addresses are byte offsets into that memory
 * (0 <= address < 4 GiB), lengths count float32 values. Nothing is checked: a wrong address reads or
 * writes other data, or throws a RangeError of WebAssembly at the memory's end. Vectors may have any
 * alignment; multiples of 16 bytes are faster. One instance belongs to one thread; it holds no
 * other linear memory, so any number of threads may run kernels over the same memory.
 *
 * Results depend neither on the number of threads nor on neighbours, but their last bits depend on
 * the processor (relaxed multiply-add is fused where the hardware can).
 */
export interface Kernels {
  /** The memory that addresses refer to. */
  readonly memory: WasmMemory
  /** Inner product of the vectors at `a` and `b`. */
  dot(a: number, b: number, length: number): number
  /** y += alpha x. */
  axpy(alpha: number, x: number, y: number, length: number): void
  /** out[i] = inner product of row i and x, for `rows` rows `strideBytes` apart. */
  gemv(
    matrix: number,
    strideBytes: number,
    rows: number,
    x: number,
    out: number,
    length: number,
  ): void
  /**
   * One simultaneous SGD step: p += eta (error q - lambda p) in place, and into `delta` what is to be
   * added to q: eta (error p_old - lambda q). q itself is not written.
   */
  sgdStep(
    p: number,
    q: number,
    delta: number,
    length: number,
    error: number,
    eta: number,
    lambda: number,
  ): void
  /** Sum in float64 of weights that are scattered over rows; see `Gathering`. */
  gatherDot(gathering: Gathering): number
  /** Weights of the last `gatherDot` that were 0; -1 when a row was or became another one: no sum. */
  gatheredZeros(): number
  /**
   * A += P^T P for `depth` rows of `width` floats (width a multiple of 4). Only the upper triangle of
   * A is meaningful afterwards.
   */
  accumulateGram(panel: number, depth: number, width: number, gram: number): void
  /**
   * Factors the n x n upper triangle (rows of `width` floats, zero beyond n) as U^T U in place, with
   * the inverse on the diagonal. Answers 0, or 1 + the first row that is not positive definite.
   */
  factorCholesky(matrix: number, n: number, width: number): number
  /** Solves U^T U x = b in place of b (`width` floats, zero beyond n) after `factorCholesky`. */
  solveCholesky(matrix: number, n: number, width: number, b: number): void
  /**
   * Scores the block of rows against the queries that `writeTopKQueries` put into the scratch area
   * and keeps the (query, row, score) triples whose score is greater than the query's threshold.
   * Answers how many rows were scanned: fewer than `request.rows` only when the triples ran full, so
   * read them, raise the thresholds and go on from there.
   */
  topKBlock(request: TopKBlock): number
  /** Triples that the last `topKBlock` wrote. */
  topKWritten(scratch: number): number
  /** Solves one ALS row exactly; see `AlsRowProblem`. Answers the row's part of the objective. */
  alsSolveCholesky(problem: AlsRowProblem): number
  /** At most `steps` conjugate gradient steps from the row's present value; answers as above. */
  alsSolveGradient(problem: AlsRowProblem, steps: number): number
  /** The penalty part of the objective that the last ALS solve answered. */
  alsPenalty(): number
  /**
   * Draws one row from its normal distribution; see `RowDraw`. Answers the weighted sum of squared errors at the
   * draw, or NaN if the precision is not positive definite; then nothing is written.
   */
  drawRow(draw: RowDraw): number
}

/** A row with biases that is drawn from its distribution; `assembly/draw-row.as.ts` says which one. */
export interface RowDraw
  extends Pick<
    AlsRowProblem,
    | 'row'
    | 'indexes'
    | 'ratings'
    | 'count'
    | 'other'
    | 'strideBytes'
    | 'unknowns'
    | 'mean'
    | 'scratch'
    | 'roots'
  > {
  /** Address of the prior's precision over the noise precision, all of it (`alsWidth` squared floats). */
  prior: number
  /** Address of the prior's precision times its mean, over the noise precision. */
  shift: number
  /** Address of normal numbers over the root of the noise precision, zero beyond the unknowns. */
  noise: number
  /** Address that gets the mean of the distribution, without the constant 1. */
  center: number
}

/** One call of `gatherDot`: addresses of lists in the memory; what they hold is in words, below 2^30. */
export interface Gathering {
  /** u32: addresses of the sequence words of the rows, and the values that they must have. */
  headers: number
  sequences: number
  rows: number
  /** u32: addresses of the weights; float32: the factor of each. */
  addresses: number
  values: number
  /** Weights to add up. */
  features: number
}

/** One call of `topKBlock`. */
export interface TopKBlock {
  /** Address of the scratch area (`topKScratchBytes`), private to the calling thread. */
  readonly scratch: number
  /** Queries in the scratch area, 1 to 16. */
  readonly queries: number
  /** Address of the first row's first float. */
  readonly base: number
  /** Bytes from one row to the next, a multiple of 4. */
  readonly strideBytes: number
  /** Rows to score. */
  readonly rows: number
  readonly dimension: number
  /** Triples the scratch area holds, at least 32. */
  readonly capacity: number
}

/** A row's least-squares problem; `assembly/als-row.as.ts` says what is solved. */
export interface AlsRowProblem {
  /** Address of the row to solve; conjugate gradient starts from its present value. */
  row: number
  /** Addresses of the row's ratings: u32 indexes into the other side, float32 values. */
  indexes: number
  ratings: number
  /** Exact solve of explicit ratings: address of the roots of their weights; 0: all have weight 1. */
  roots: number
  /** How many ratings the row has. */
  count: number
  /** The other side's matrix and the bytes from one of its rows to the next (multiple of 16). */
  other: number
  strideBytes: number
  /** Unknowns: factors, plus one with biases. */
  unknowns: number
  biased: boolean
  /** Subtracted from every rating. */
  mean: number
  /** Penalties on the square of a factor and of the bias, already scaled by the row's count. */
  factorPenalty: number
  biasPenalty: number
  /**
   * Implicit feedback: address of the Gram matrix of the other side's rows, all of it (`alsWidth`
   * squared floats), and what a rating's size is multiplied with to be confidence. 0: explicit.
   */
  gram: number
  alpha: number
  /** Address of `alsScratchBytes(unknowns, panelRows)` bytes, a multiple of 64. */
  scratch: number
  /**
   * Ratings whose rows conjugate gradient copies side by side, a multiple of 8; a row with more ratings is
   * gathered again in each step. The result does not depend on it.
   */
  panelRows: number
}

/**
 * Bytes of scratch for `alsSolveCholesky` and `drawRow` with `unknowns` unknowns, and for `alsSolveGradient`
 * with `panelRows`; place it at a multiple of 64.
 */
export function alsScratchBytes(unknowns: number, panelRows = 8): number {
  const width = alsWidth(unknowns)
  const exact = GRAM_ROWS * (width + 1) + 5 * width + width * width
  return 4 * Math.max(exact, panelRows * width + 5 * width + 16)
}

/** `unknowns` rounded up to the next multiple of four. */
export function alsWidth(unknowns: number): number {
  return (unknowns + 3) & ~3
}
