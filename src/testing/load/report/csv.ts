import type { LevelReport } from './level-report.ts'

const LEVEL_HEADINGS: Readonly<Record<LevelReport['load'], string>> = {
  concurrency: 'Concurrency',
  rate: 'Request Rate',
  intervals: 'Request Intervals',
  trace: 'Trace',
}

/**
 * The lines of a CSV file, one a level. Columns that perf_analyzer has, too, have its names and units:
 * latencies are in microseconds.
 */
export function csvLines(reports: readonly LevelReport[]): readonly string[] {
  const [first] = reports
  if (first === undefined) return []
  const latencies = Object.keys(first.latencyMs)
  const headings = [
    LEVEL_HEADINGS[first.load],
    'Inferences/Second',
    'Requests/Second',
    'Requests',
    'Failed',
    'Rejected',
    'Cold',
    ...latencies.map(
      (name) => `${name === 'avg' || name === 'max' ? capital(name) : name} latency`,
    ),
    'Late',
    'Max lateness',
    'Held back',
    'Stable',
    'Errors',
  ]
  return [headings.join(','), ...reports.map((report) => lineOf(report, latencies))]
}

function lineOf(report: LevelReport, latencies: readonly string[]): string {
  const errors = Object.entries(report.errors).map(([code, { count }]) => `${code}=${count}`)
  return [
    report.level ?? '',
    report.inferencesPerSecond,
    report.requestsPerSecond,
    report.sent,
    report.failed,
    report.rejected,
    report.cold,
    ...latencies.map((name) => microseconds(report.latencyMs[name] ?? null)),
    report.late,
    microseconds(report.maxLatenessMs),
    report.heldBack,
    report.stable ? 1 : 0,
    errors.join(' '),
  ].join(',')
}

const capital = (name: string): string => name[0]!.toUpperCase() + name.slice(1)

const microseconds = (ms: number | null): string =>
  ms === null ? '' : String(Math.round(ms * 1000))
