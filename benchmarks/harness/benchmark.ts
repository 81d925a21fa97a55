import type { Workspace } from './workspace.ts'

/** One measured figure, printed as a JSON line. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The wanted value: at least this, or at most this where `higher` is false. */
  readonly target?: number
  /** @default true */
  readonly higher?: boolean
  /** The wanted value / rival: at least this, or at most this where `higher` is false. */
  readonly targetRatio?: number
  /** The rival's figure of the same run, in the same unit. */
  readonly rival?: number
  readonly rivalName?: string
  /** Percentiles, sizes, settings. */
  readonly details?: Readonly<Record<string, number | string>>
}

/** A benchmark. `run` prepares, measures and returns one or more figures. */
export interface Benchmark {
  readonly name: string
  readonly summary: string
  run(options: BenchmarkOptions): Promise<readonly Figure[]>
  /** Parts of it that have their own names, for a run with a time limit. */
  readonly parts?: readonly Benchmark[]
}

/** Options of every benchmark, from the command line. */
export interface BenchmarkOptions {
  /** Share of the data that is used, for a quick look; each figure reports it. 0 < scale <= 1. */
  readonly scale: number
  /** Prints a line of progress to standard error. */
  readonly say: (line: string) => void
  /** A folder that is deleted after the benchmark. */
  readonly scratch: string
  /** Models and servers that the benchmarks of one run share. */
  readonly workspace: Workspace
}
