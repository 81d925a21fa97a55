import type { LevelResult } from '../measurement/measure-level.ts'
import type { JudgedLatency } from '../measurement/stability.ts'
import { LatencyHistogram } from '../port/latency-histogram.ts'
import type { Load } from '../port/load.ts'
import { failedIn, type LoadWindow } from '../port/window.ts'

/** Percentiles of every report. */
const PERCENTILES: readonly number[] = [50, 90, 95, 99]

/** What was measured under one load: the object of `--json`, and what table and CSV are made of. */
export interface LevelReport {
  readonly load: Load['kind']
  /** Callers, or requests per second; null for a load without a level. */
  readonly level: number | null
  readonly requestsPerSecond: number
  /** `requestsPerSecond` times the pairs of a request. */
  readonly inferencesPerSecond: number
  readonly sent: number
  readonly answered: number
  /** Requests without an answer, `rejected` among them. */
  readonly failed: number
  /** Requests that the server refused because of its load. */
  readonly rejected: number
  /** Answers from a mean row. */
  readonly cold: number
  /** ms, null without an answer: `avg`, `p50`, ..., `max`. */
  readonly latencyMs: Readonly<Record<string, number | null>>
  readonly errors: LoadWindow['failures']
  /** Requests that the generator sent more than a millisecond late. */
  readonly late: number
  readonly maxLatenessMs: number
  /** Requests that were sent late because too many waited for an answer. */
  readonly heldBack: number
  /** Share of the time in which the threads of the generator were busy. */
  readonly busyShare: number
  readonly seconds: number
  readonly windows: number
  readonly stable: boolean
  readonly interrupted: boolean
}

/** The report of a level. `batch`: pairs of a request. */
export function reportOf(
  { load, measured, throughput, ...result }: LevelResult,
  { batch, judged }: { readonly batch: number; readonly judged: JudgedLatency },
): LevelReport {
  return {
    load: load.kind,
    level: levelOf(load),
    requestsPerSecond: rounded(throughput),
    inferencesPerSecond: rounded(throughput * batch),
    sent: measured.sent,
    answered: measured.ok,
    failed: failedIn(measured),
    rejected: measured.rejected,
    cold: measured.cold,
    latencyMs: latenciesOf(measured, judged),
    errors: measured.failures,
    late: measured.late,
    maxLatenessMs: rounded(measured.maxLatenessMs),
    heldBack: measured.heldBack,
    busyShare: rounded(measured.durationMs > 0 ? measured.busyMs / measured.durationMs : 0),
    seconds: rounded(measured.durationMs / 1000),
    windows: result.windows,
    stable: result.isStable,
    interrupted: result.isInterrupted,
  }
}

function levelOf(load: Load): number | null {
  if (load.kind === 'concurrency') return load.callers
  return load.kind === 'rate' ? load.perSecond : null
}

function latenciesOf(
  { latency }: LoadWindow,
  judged: JudgedLatency,
): Readonly<Record<string, number | null>> {
  const histogram = new LatencyHistogram()
  histogram.add(latency)
  const percents = [...new Set([...PERCENTILES, ...(judged === 'mean' ? [] : [judged])])].sort(
    (a, b) => a - b,
  )
  const ms = (value: number): number | null => (Number.isNaN(value) ? null : rounded(value))
  return {
    avg: ms(histogram.meanMs),
    ...Object.fromEntries(percents.map((p) => [`p${p}`, ms(histogram.percentileMs(p))])),
    max: ms(histogram.maxMs),
  }
}

/** Three decimals: microseconds of a latency. */
const rounded = (value: number): number => Math.round(value * 1000) / 1000
