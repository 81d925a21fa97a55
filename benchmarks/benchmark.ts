import type { Workspace } from './workspace.ts'

/** One measured figure, printed as a JSON line. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** What issue and design ask for; `higher` says on which side of it is good. */
  readonly target?: number
  readonly higher?: boolean
  /** What value / rival must be; on the same side as `target`. */
  readonly targetRatio?: number
  /** The rival's figure of the same run, in the same unit. */
  readonly rival?: number
  readonly rivalName?: string
  /** Further facts: percentiles, sizes, settings. */
  readonly details?: Readonly<Record<string, number | string>>
}

/** A benchmark: prepares, measures, and gives one or more figures. */
export interface Benchmark {
  readonly name: string
  readonly summary: string
  run(options: BenchmarkOptions): Promise<readonly Figure[]>
  /** Shares of it that can be asked for by their own names, for a run with a time limit. */
  readonly parts?: readonly Benchmark[]
}

/** What the command line sets for every benchmark. */
export interface BenchmarkOptions {
  /** Scales data down for a quick look; figures then say so. 0 < scale <= 1. */
  readonly scale: number
  /** Progress, on standard error. */
  readonly say: (line: string) => void
  /** A folder that is deleted afterwards. */
  readonly scratch: string
  /** What benchmarks of one run share. */
  readonly workspace: Workspace
}

/** The median of some numbers; NaN when there are none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The value below which the share `q` of the numbers lies. */
export function quantile(values: Float64Array | readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}

/** Rounds to 4 significant digits, for details that are read by people. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4))
}

/** Resolves after some milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
