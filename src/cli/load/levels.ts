import { systemClock } from '../../core/clock.ts'
import { parseIntervals } from '../../load/keys/key-lines.ts'
import {
  type LevelRange,
  type LevelSearch,
  requireLevels,
  singleLevel,
} from '../../load/measurement/level-search.ts'
import type { MeasureOptions } from '../../load/measurement/measure-level.ts'
import type { LevelPlan } from '../../load/measurement/measure-levels.ts'
import type { JudgedLatency } from '../../load/measurement/stability.ts'
import type { ArrivalDistribution } from '../../load/port/load.ts'
import { type Flags, type OptionSpec, UsageError } from '../command/command.ts'
import { readDataFile } from '../files/data-file.ts'
import { readText } from './text.ts'

const DISTRIBUTIONS: readonly ArrivalDistribution[] = ['constant', 'poisson']

/** Flags of the loads to measure and of their measurement, with perf_analyzer's names. */
export const LEVEL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'concurrency-range': {
    type: 'string',
    value: 'START:END:STEP',
    help: 'Callers that wait for their answers; END 0: until --latency-threshold (default 1)',
  },
  'request-rate-range': {
    type: 'string',
    value: 'START:END:STEP',
    help: 'Requests per second, whatever the server does; END 0: until --latency-threshold',
  },
  'request-distribution': {
    type: 'string',
    value: 'NAME',
    default: 'constant',
    help: 'Times of the requests at a rate: constant or poisson',
  },
  'request-intervals': {
    type: 'string',
    value: 'FILE',
    help: 'Times between requests in microseconds, one a line; from the first again after the last',
  },
  'latency-threshold': {
    type: 'string',
    short: 'l',
    value: 'MS',
    help: 'End at the first level whose latency is above this',
  },
  'binary-search': {
    type: 'boolean',
    help: 'Search the highest level below --latency-threshold by halving; STEP is the precision',
  },
  percentile: {
    type: 'string',
    value: 'N',
    help: 'Judge stability and threshold by this percentile (default: the mean)',
  },
  'measurement-mode': {
    type: 'string',
    value: 'MODE',
    default: 'time_windows',
    help: 'time_windows, or count_windows with at least --measurement-request-count requests each',
  },
  'measurement-interval': {
    type: 'string',
    short: 'p',
    value: 'MS',
    default: '5000',
    help: 'Length of a window',
  },
  'measurement-request-count': {
    type: 'string',
    value: 'N',
    default: '50',
    help: 'Requests of a window at least, in the mode count_windows',
  },
  'stability-percentage': {
    type: 'string',
    short: 's',
    value: 'N',
    default: '10',
    help: 'A level is stable when its last three windows differ by at most this',
  },
  'max-trials': {
    type: 'string',
    short: 'r',
    value: 'N',
    default: '10',
    help: 'Windows after which a level ends without being stable',
  },
  'warmup-request-count': {
    type: 'string',
    value: 'N',
    default: '0',
    help: 'Requests before each level that are not measured',
  },
  'request-count': {
    type: 'string',
    value: 'N',
    help: 'Requests of each level (default: until it is stable)',
  },
}

/** Shortest window in the mode count_windows, ms. */
const COUNT_WINDOW_MS = 1000

/** The levels of the flags. `traceMs`: times of the requests of a trace. Throws UsageError. */
export async function levelPlanOf(
  flags: Flags,
  traceMs: Float64Array | undefined,
  seed: number,
): Promise<LevelPlan> {
  const sources = ['concurrency-range', 'request-rate-range', 'request-intervals', 'trace']
  const given = sources.filter((name) => flags.optional(name) !== undefined)
  if (given.length > 1) {
    throw new UsageError(`give one of ${given.map((name) => `--${name}`).join(' and ')}, not both`)
  }
  if (traceMs !== undefined) return tracePlan(flags, traceMs)
  const file = flags.optional('request-intervals')
  if (file !== undefined) return await intervalsPlan(file)
  const search = searchOf(flags)
  if (flags.optional('request-rate-range') !== undefined) {
    const distribution = flags.choice('request-distribution', DISTRIBUTIONS)
    return {
      range: rangeOf(flags, 'request-rate-range', search),
      search,
      loadOf: (perSecond) => ({ kind: 'rate', perSecond, distribution, seed }),
    }
  }
  return {
    range: rangeOf(flags, 'concurrency-range', search),
    search,
    loadOf: (callers) => ({ kind: 'concurrency', callers }),
  }
}

function tracePlan(flags: Flags, offsetsMs: Float64Array): LevelPlan {
  if (flags.integer('warmup-request-count') > 0) {
    throw new UsageError('--trace sends its requests once; leave out --warmup-request-count')
  }
  return { range: singleLevel(1), search: 'linear', loadOf: () => ({ kind: 'trace', offsetsMs }) }
}

async function intervalsPlan(file: string): Promise<LevelPlan> {
  const hint = 'a file of microseconds, one a line'
  const microseconds = await readDataFile(
    file,
    { content: 'request intervals', hint },
    async (path) => parseIntervals(await readText(path)),
  )
  return {
    range: singleLevel(1),
    search: 'linear',
    loadOf: () => ({ kind: 'intervals', microseconds }),
  }
}

function searchOf(flags: Flags): LevelSearch {
  if (!flags.boolean('binary-search')) return 'linear'
  if (flags.optional('latency-threshold') === undefined) {
    throw new UsageError('--binary-search needs --latency-threshold')
  }
  return 'binary'
}

function rangeOf(
  flags: Flags,
  name: 'concurrency-range' | 'request-rate-range',
  search: LevelSearch,
): LevelRange {
  const areWhole = name === 'concurrency-range'
  const text = flags.optional(name) ?? '1'
  const parts = text.split(':').map((part) => (part.trim() === '' ? Number.NaN : Number(part)))
  const isValid =
    parts.length <= 3 && parts.every((part) => part >= 0 && (!areWhole || Number.isInteger(part)))
  const [start = Number.NaN, end = start, step = 1] = parts
  if (!isValid)
    throw new UsageError(`--${name} takes START, START:END or START:END:STEP, not "${text}"`)
  if (end === 0 && flags.optional('latency-threshold') === undefined) {
    throw new UsageError(`--${name} without an end needs --latency-threshold`)
  }
  const range = { start, end: end === 0 ? Number.POSITIVE_INFINITY : end, step }
  requireLevels(range, search)
  return range
}

/** The measurement of the flags. Throws UsageError. */
export function measureOptionsOf(flags: Flags, interrupted: AbortSignal): MeasureOptions {
  const byCount = flags.choice('measurement-mode', MODES) === 'count_windows'
  const requestCount = flags.optionalInteger('request-count', 1)
  const hasThreshold = flags.optional('latency-threshold') !== undefined
  return {
    intervalMs: byCount ? COUNT_WINDOW_MS : flags.integer('measurement-interval', 1),
    windowRequests: byCount ? flags.integer('measurement-request-count', 1) : 0,
    stabilityPercentage: positive(flags, 'stability-percentage'),
    judged: judgedOf(flags),
    maxTrials: flags.integer('max-trials', 1),
    latencyThresholdMs: hasThreshold ? positive(flags, 'latency-threshold') : undefined,
    warmupRequests: flags.integer('warmup-request-count'),
    requestCount,
    interrupted,
    clock: systemClock,
  }
}

const MODES = ['time_windows', 'count_windows'] as const

/** The latency that `--percentile` names. Throws UsageError. */
function judgedOf(flags: Flags): JudgedLatency {
  if (flags.optional('percentile') === undefined) return 'mean'
  const percentile = flags.number('percentile')
  if (percentile > 0 && percentile <= 100) return percentile
  throw new UsageError(`--percentile must be above 0 and at most 100, not ${percentile}`)
}

function positive(flags: Flags, name: string): number {
  const value = flags.number(name)
  if (value > 0) return value
  throw new UsageError(`--${name} must be above 0, not ${value}`)
}
