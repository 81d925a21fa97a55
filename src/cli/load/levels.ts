import { systemClock } from '../../core/clock.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import { parseIntervals } from '../../testing/load/keys/key-lines.ts'
import {
  type LevelRange,
  type LevelSearch,
  requireLevels,
  singleLevel,
} from '../../testing/load/measurement/level-search.ts'
import type { MeasureOptions } from '../../testing/load/measurement/measure-level.ts'
import type { LevelPlan } from '../../testing/load/measurement/measure-levels.ts'
import type { ArrivalDistribution } from '../../testing/load/port/load.ts'
import { type Flags, needs, type OptionSpec, UsageError } from '../command/command.ts'
import { readDataFile } from '../files/data-file.ts'
import { type FlagKind, kindOf } from '../flag-kinds/flag-kind.ts'
import { anyNumber, milliseconds, wholeNumber } from '../flag-kinds/numbers.ts'
import { input } from '../flag-kinds/places.ts'
import { word } from '../flag-kinds/words.ts'
import { readText } from './text.ts'

const DISTRIBUTIONS: readonly ArrivalDistribution[] = ['constant', 'poisson']

const MODES = ['time_windows', 'count_windows'] as const

/** Levels of whole numbers, for callers, or of any. */
function levels(noun: string, isLevel: (level: number) => boolean): FlagKind {
  const takes = `START, START:END or START:END:STEP of ${noun}, 0 < START <= END and STEP > 0`
  return kindOf({ sort: 'range', shown: 'START:END:STEP', takes }, (text) => {
    const { start, end, step } = levelsOf(text)
    return [start, end, step].every(isLevel) && start > 0 && step > 0 && end >= start
  })
}

/** Flags of the loads to measure and of their measurement, with perf_analyzer's names. */
export const LEVEL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'concurrency-range': {
    type: 'string',
    excludes: ['request-rate-range', 'request-intervals', 'trace'],
    value: levels('whole numbers', (n) => Number.isInteger(n) || n === Infinity),
    help: 'Callers that wait for their answers; END 0: until --latency-threshold (default 1)',
  },
  'request-rate-range': {
    type: 'string',
    excludes: ['request-intervals', 'trace'],
    value: levels('numbers', (n) => !Number.isNaN(n)),
    help: 'Requests per second, whatever the server does; END 0: until --latency-threshold',
  },
  'request-distribution': {
    type: 'string',
    needs: [needs('request-rate-range')],
    value: word(DISTRIBUTIONS, 'NAME'),
    default: 'constant',
    help: 'Times of the requests at a rate: constant or poisson',
  },
  'request-intervals': {
    type: 'string',
    excludes: ['trace'],
    value: input(),
    help: 'Times between requests in microseconds, one a line; from the first again after the last',
  },
  'latency-threshold': {
    type: 'string',
    short: 'l',
    value: anyNumber({ above: 0 }, 'MS'),
    help: 'End at the first level whose latency is above this',
  },
  'binary-search': {
    type: 'boolean',
    needs: [needs('latency-threshold')],
    help: 'Search the highest level below --latency-threshold by halving; STEP is the precision',
  },
  percentile: {
    type: 'string',
    value: anyNumber({ above: 0, max: 100 }, 'N'),
    help: 'Judge stability and threshold by this percentile (default: the mean)',
  },
  'measurement-mode': {
    type: 'string',
    value: word(MODES, 'MODE'),
    default: 'time_windows',
    help: 'time_windows, or count_windows with at least --measurement-request-count requests each',
  },
  'measurement-interval': {
    type: 'string',
    short: 'p',
    value: milliseconds(),
    default: '5000',
    help: 'Length of a window',
  },
  'measurement-request-count': {
    type: 'string',
    needs: [needs('measurement-mode', 'count_windows')],
    value: wholeNumber({ min: 1 }),
    default: '50',
    help: 'Requests of a window at least, in the mode count_windows',
  },
  'stability-percentage': {
    type: 'string',
    short: 's',
    value: anyNumber({ above: 0 }, 'N'),
    default: '10',
    help: 'A level is stable when its last three windows differ by at most this',
  },
  'max-trials': {
    type: 'string',
    short: 'r',
    value: wholeNumber({ min: 1 }),
    default: '10',
    help: 'Windows after which a level ends without being stable',
  },
  'warmup-request-count': {
    type: 'string',
    value: wholeNumber(),
    default: '0',
    help: 'Requests before each level that are not measured',
  },
  'request-count': {
    type: 'string',
    value: wholeNumber({ min: 1 }),
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
  if (flags.number('warmup-request-count') > 0) {
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
  const range = levelsOf(flags.optional(name) ?? '1')
  if (!Number.isFinite(range.end) && flags.optional('latency-threshold') === undefined) {
    throw new UsageError(`--${name} without an end needs --latency-threshold`)
  }
  requireLevels(range, search)
  return range
}

/** The levels of a text; those that are no numbers are NaN. An end of 0 is none. */
function levelsOf(text: string): LevelRange {
  const parts = text.split(':').map(decimalNumber)
  const [start = Number.NaN, end = start, step = 1, ...more] = parts
  if (more.length > 0) return { start: Number.NaN, end, step }
  return { start, end: end === 0 ? Number.POSITIVE_INFINITY : end, step }
}

/** The measurement of the flags. */
export function measureOptionsOf(flags: Flags, interrupted: AbortSignal): MeasureOptions {
  const byCount = flags.choice('measurement-mode', MODES) === 'count_windows'
  const requestCount = flags.optionalNumber('request-count')
  return {
    intervalMs: byCount ? COUNT_WINDOW_MS : flags.number('measurement-interval'),
    windowRequests: byCount ? flags.number('measurement-request-count') : 0,
    stabilityPercentage: flags.number('stability-percentage'),
    judged: flags.optionalNumber('percentile') ?? 'mean',
    maxTrials: flags.number('max-trials'),
    latencyThresholdMs: flags.optionalNumber('latency-threshold'),
    warmupRequests: flags.number('warmup-request-count'),
    requestCount,
    interrupted,
    clock: systemClock,
  }
}
