import type { History } from './answers.ts'

/** Values over time: `[times in s, values of the first series, values of the second, ...]`. */
export type Samples = readonly (readonly (number | null)[])[]

/** Samples that a chart shows: ten minutes at one in two seconds. */
const MOST = 300

/** Adds the samples that are newer than the last one, and drops the oldest above the number that is kept. */
export function appended(samples: Samples, history: History | undefined): Samples {
  if (history === undefined || history.series.length !== samples.length - 1) return samples
  const last = samples[0]!.at(-1) ?? Number.NEGATIVE_INFINITY
  const from = history.times.findIndex((time) => time / 1000 > last!)
  if (from < 0) return samples
  const columns = [history.times.map((ms) => ms / 1000), ...history.series.map((s) => s.values)]
  return samples.map((column, i) => [...column, ...columns[i]!.slice(from)].slice(-MOST))
}
