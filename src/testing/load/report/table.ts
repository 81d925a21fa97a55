import { LATE_MS } from '../port/window.ts'
import type { LevelReport } from './level-report.ts'

const NAMES: Readonly<Record<LevelReport['load'], string>> = {
  concurrency: 'concurrency',
  rate: 'rate /s',
  intervals: 'intervals',
  trace: 'trace',
}

/** Share of late requests from which the generator, not the server, may have made the latencies. */
const LATE_SHARE = 0.01

/** Busy share of the generator's threads from which the generator may bound the rate. */
const BUSY_SHARE = 0.9

type Column = readonly [heading: string, text: (report: LevelReport) => string]

/** A table with one line a level, and notes below a line about what its figures do not show. */
export class LoadTable {
  private readonly columns: readonly Column[]

  /** `latencies`: names of the latencies of the reports; `batch`: pairs of a request. */
  constructor(load: LevelReport['load'], latencies: readonly string[], batch: number) {
    const inferences: Column = ['inferences/s', (report) => count(report.inferencesPerSecond)]
    this.columns = [
      [NAMES[load], ({ level }) => (level === null ? '' : count(level, 2))],
      ['requests/s', (report) => count(report.requestsPerSecond)],
      ...(batch === 1 ? [] : [inferences]),
      ...latencies.map(
        (name): Column => [`${name} ms`, ({ latencyMs }) => milliseconds(latencyMs[name] ?? null)],
      ),
      ['failed', (report) => count(report.failed)],
      ['late', (report) => percent(report.late, report.sent)],
    ]
  }

  /** The line above the levels. */
  heading(): string {
    return this.line(([heading]) => heading)
  }

  /** The line of a level, and its notes. */
  linesOf(report: LevelReport): readonly string[] {
    return [this.line(([, text]) => text(report)), ...notesOf(report).map((note) => `  ${note}`)]
  }

  private line(cell: (column: Column) => string): string {
    return this.columns
      .map((column) => cell(column).padStart(Math.max(column[0].length, 9)))
      .join('  ')
  }
}

function notesOf(report: LevelReport): readonly string[] {
  const { late, sent, heldBack, cold, answered } = report
  const share = late / Math.max(1, sent)
  return [
    ...(report.interrupted ? ['interrupted: these are the figures up to then'] : []),
    ...(report.stable || report.interrupted
      ? []
      : [`not stable after ${report.windows} windows; try a longer --measurement-interval`]),
    ...Object.entries(report.errors).map(
      ([code, { count: times, message }]) =>
        `${code}: ${count(times)} (${percent(times, sent)}), first: ${message}`,
    ),
    ...(cold > 0
      ? [`cold: ${percent(cold, answered)} of the answers came from a mean row: unknown ids`]
      : []),
    ...(heldBack > 0
      ? [
          `held back: ${count(heldBack)} requests, because too many waited for an answer: the server cannot keep up`,
        ]
      : []),
    ...(share > LATE_SHARE
      ? [
          `the generator was late: it sent ${percent(late, sent)} of the requests more than ${LATE_MS} ms after their time, at most ${milliseconds(report.maxLatenessMs)} ms; use more --threads or another machine`,
        ]
      : []),
    ...(report.load === 'concurrency' && report.busyShare > BUSY_SHARE
      ? [
          `the generator was busy for ${percent(report.busyShare, 1)} of the time and may bound the rate; use more --threads or another machine`,
        ]
      : []),
  ]
}

const count = (value: number, decimals = 0): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: decimals })

const milliseconds = (value: number | null): string => (value === null ? '-' : value.toFixed(3))

function percent(part: number, whole: number): string {
  return `${((100 * part) / Math.max(whole, Number.MIN_VALUE)).toFixed(1)} %`
}
