import type { WasmMemory } from '../lifetime/wasm-memory.ts'
import { exportsOver } from './exports-over.ts'
import { KERNELS_BASE64 } from './kernels.generated.ts'
import { type AlsRowProblem, alsWidth, type Kernels } from './kernels.ts'
import { topKLanes, topKQueries, topKTriples } from './top-k-scratch.ts'

/** Exports of the module; the names are those of the assembly sources. */
interface RawKernels {
  dot(a: number, b: number, n: number): number
  axpy(alpha: number, x: number, y: number, n: number): void
  gemv(matrix: number, stride: number, rows: number, x: number, out: number, n: number): void
  sgdStep: Kernels['sgdStep']
  gatherDot(
    headers: number,
    sequences: number,
    rows: number,
    addresses: number,
    values: number,
    n: number,
    behind: boolean,
  ): number
  gatheredZeros(): number
  accumulateGram: Kernels['accumulateGram']
  factorCholesky: Kernels['factorCholesky']
  solveCholesky: Kernels['solveCholesky']
  topKOne: RawTopK
  topKFour: RawTopK
  topKEight: RawTopK
  topKSixteen: RawTopK
  topKWritten(out: number): number
  alsSolveCholesky(...args: number[]): number
  alsSolveGradient(...args: number[]): number
  alsPenalty(): number
  drawRow(...args: number[]): number
}

type RawTopK = (
  queries: number,
  rows: number,
  stride: number,
  count: number,
  n: number,
  thresholds: number,
  out: number,
  capacity: number,
) => number

/** x86 keeps loads in order by itself. */
const KEEP_BEHIND = process.arch !== 'x64'

let compiled: WebAssembly.Module | undefined

/** The module of all kernels; compiled once in a thread. */
export function compiledKernels(): WebAssembly.Module {
  compiled ??= new WebAssembly.Module(Buffer.from(KERNELS_BASE64, 'base64'))
  return compiled
}

/** Kernels over `memory`, which must be shared; takes well under a millisecond after the first call. */
export function instantiateKernels(memory: WasmMemory): Kernels {
  const raw = exportsOver(compiledKernels(), 'env', { memory }) as unknown as RawKernels
  return {
    memory,
    dot: raw.dot,
    axpy: raw.axpy,
    gemv: raw.gemv,
    sgdStep: raw.sgdStep,
    gatherDot: (g) =>
      raw.gatherDot(g.headers, g.sequences, g.rows, g.addresses, g.values, g.features, KEEP_BEHIND),
    gatheredZeros: raw.gatheredZeros,
    accumulateGram: raw.accumulateGram,
    factorCholesky: raw.factorCholesky,
    solveCholesky: raw.solveCholesky,
    topKBlock: topKBlockOf(raw),
    topKWritten: (scratch) => raw.topKWritten(topKTriples(scratch)),
    alsSolveCholesky: (p) => raw.alsSolveCholesky(...problemArguments(p), p.roots),
    alsSolveGradient: (p, steps) =>
      raw.alsSolveGradient(...problemArguments(p), steps, p.panelRows),
    alsPenalty: raw.alsPenalty,
    drawRow: (p) =>
      raw.drawRow(
        p.row,
        p.indexes,
        p.ratings,
        p.roots,
        p.count,
        p.other,
        p.strideBytes,
        p.unknowns,
        alsWidth(p.unknowns),
        p.mean,
        p.prior,
        p.shift,
        p.noise,
        p.center,
        p.scratch,
      ),
  }
}

function topKBlockOf(raw: RawKernels): Kernels['topKBlock'] {
  return (request) => {
    const lanes = topKLanes(request.queries)
    const scan =
      lanes === 1
        ? raw.topKOne
        : lanes === 4
          ? raw.topKFour
          : lanes === 8
            ? raw.topKEight
            : raw.topKSixteen
    return scan(
      topKQueries(request.scratch, request.capacity),
      request.base,
      request.strideBytes,
      request.rows,
      request.dimension,
      request.scratch,
      topKTriples(request.scratch),
      request.capacity,
    )
  }
}

type ProblemArguments = [
  ...[number, number, number, number, number, number, number, number],
  ...[number, number, number, number, number, number, number],
]

function problemArguments(p: AlsRowProblem): ProblemArguments {
  return [
    p.row,
    p.indexes,
    p.ratings,
    p.count,
    p.other,
    p.strideBytes,
    p.unknowns,
    alsWidth(p.unknowns),
    p.biased ? 1 : 0,
    p.mean,
    p.factorPenalty,
    p.biasPenalty,
    p.gram,
    p.alpha,
    p.scratch,
  ]
}
