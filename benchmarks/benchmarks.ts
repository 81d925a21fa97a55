import type { Benchmark } from './benchmark.ts'
import { shuffleBenchmark } from './shuffle.ts'

/** Every benchmark, in the order of the README's table. */
export const BENCHMARKS: readonly Benchmark[] = [shuffleBenchmark]
