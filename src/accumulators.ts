/** What the package exports of accumulators: their types, and how one of your own is registered. */

export { AverageAccumulator } from './operators/accumulators/average.ts'
export { DoubleCounter, IntCounter, LongCounter } from './operators/accumulators/counters.ts'
export {
  DoubleMaximum,
  DoubleMinimum,
  IntMaximum,
  IntMinimum,
  LongMaximum,
  LongMinimum,
} from './operators/accumulators/extremes.ts'
export { HistogramAccumulator } from './operators/accumulators/histogram.ts'
export { ListAccumulator } from './operators/accumulators/list.ts'
export { registerAccumulator } from './operators/accumulators/registry.ts'
export type { Accumulator } from './operators/port/accumulator.ts'
