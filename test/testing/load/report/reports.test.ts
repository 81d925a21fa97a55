import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../../src/core/errors.ts'
import type { LevelResult } from '../../../../src/testing/load/measurement/measure-level.ts'
import { throughputOf } from '../../../../src/testing/load/measurement/stability.ts'
import { ANSWERED_COLD, outcomeOf } from '../../../../src/testing/load/port/target.ts'
import { LoadRecorder } from '../../../../src/testing/load/port/window.ts'
import { csvLines } from '../../../../src/testing/load/report/csv.ts'
import { reportOf } from '../../../../src/testing/load/report/level-report.ts'
import { LoadTable } from '../../../../src/testing/load/report/table.ts'

function result(overrides: Partial<LevelResult> = {}): LevelResult {
  const recorder = new LoadRecorder()
  for (let i = 0; i < 98; i++) {
    recorder.sent(i < 10 ? 5 : 0)
    recorder.ended(ANSWERED_COLD, 0.2)
  }
  for (let i = 0; i < 2; i++) {
    recorder.sentHeldBack()
    recorder.ended(outcomeOf(new WeirError('OVERLOADED', 'too much')), 9)
  }
  const measured = recorder.take(2000, 1990)
  return {
    load: { kind: 'concurrency', callers: 8 },
    isStable: false,
    isInterrupted: false,
    windows: 10,
    measured,
    throughput: throughputOf(measured),
    judgedMs: 0.2,
    ...overrides,
  }
}

const report = (overrides?: Partial<LevelResult>) =>
  reportOf(result(overrides), { batch: 16, judged: 99.9 })

describe('the report of a level', () => {
  it('has throughput, latencies and failures', () => {
    expect(report()).toEqual({
      load: 'concurrency',
      level: 8,
      requestsPerSecond: 49,
      inferencesPerSecond: 784,
      sent: 100,
      answered: 98,
      failed: 2,
      rejected: 2,
      cold: 98,
      latencyMs: { avg: 0.2, p50: 0.2, p90: 0.2, p95: 0.2, p99: 0.2, 'p99.9': 0.2, max: 0.2 },
      errors: { OVERLOADED: { count: 2, message: 'too much' } },
      late: 10,
      maxLatenessMs: 5,
      heldBack: 2,
      busyShare: 0.995,
      seconds: 2,
      windows: 10,
      stable: false,
      interrupted: false,
    })
  })

  it('without an answer has no latencies', () => {
    const measured = new LoadRecorder().take(1000, 0)
    const { latencyMs } = report({ measured, throughput: 0, judgedMs: Number.NaN })
    expect(new Set(Object.values(latencyMs))).toEqual(new Set([null]))
    expect(csvLines([report({ measured })])[1]).toContain(',0,0,0,0,,,,,,,,0,0,')
  })
})

describe('the table', () => {
  const table = new LoadTable('concurrency', Object.keys(report().latencyMs), 16)

  it('has its columns below their headings', () => {
    const [line] = table.linesOf(report())
    expect(table.heading()).toHaveLength(line!.length)
    expect(table.heading().trim().split(/ {2,}/)).toEqual([
      ...['concurrency', 'requests/s', 'inferences/s', 'avg ms', 'p50 ms', 'p90 ms', 'p95 ms'],
      ...['p99 ms', 'p99.9 ms', 'max ms', 'failed', 'late'],
    ])
    expect(line!.trim().split(/ {2,}/)).toEqual([
      ...['8', '49', '784', '0.200', '0.200', '0.200', '0.200', '0.200', '0.200', '0.200'],
      ...['2', '10.0 %'],
    ])
  })

  it('has notes about all that its figures do not show', () => {
    const notes = table.linesOf(report()).slice(1).join('\n')
    for (const part of [
      'not stable after 10 windows',
      'OVERLOADED: 2 (2.0 %), first: too much',
      'cold: 100.0 % of the answers',
      'held back: 2 requests',
      'the generator was late: it sent 10.0 % of the requests more than 1 ms after their time, at most 5.000 ms',
      'the generator was busy for 99.5 % of the time',
    ]) {
      expect(notes).toContain(part)
    }
    const interrupted = table.linesOf(report({ isInterrupted: true })).join('\n')
    expect(interrupted).toContain('interrupted: these are the figures up to then')
    expect(interrupted).not.toContain('not stable')
  })

  it('does not call the generator of an open load busy: it waits by turns of the event loop', () => {
    const load = { kind: 'rate', perSecond: 50, distribution: 'poisson', seed: 1 } as const
    expect(table.linesOf(report({ load })).join()).not.toContain('busy')
  })
})

describe('the CSV file', () => {
  it('has the columns of perf_analyzer with microseconds', () => {
    const [heading, line] = csvLines([report()])
    const cells = Object.fromEntries(
      heading!.split(',').map((name, i) => [name, line!.split(',')[i]]),
    )
    expect(cells).toMatchObject({
      Concurrency: '8',
      'Inferences/Second': '784',
      'Requests/Second': '49',
      'Avg latency': '200',
      'p99 latency': '200',
      'p99.9 latency': '200',
      'Max lateness': '5000',
      Stable: '0',
      Errors: 'OVERLOADED=2',
    })
    expect(csvLines([])).toEqual([])
  })
})
