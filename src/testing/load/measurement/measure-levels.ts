import type { LoadGenerator } from '../port/generator.ts'
import type { Load } from '../port/load.ts'
import { failedIn } from '../port/window.ts'
import {
  bestLevel,
  type JudgedLevel,
  type LevelRange,
  type LevelSearch,
  nextLevel,
} from './level-search.ts'
import { type LevelResult, type MeasureOptions, measureLevel } from './measure-level.ts'

/** Requests that are tried before the first level: if none is answered, the settings are wrong. */
const PROBES = 10

/** Highest share of failed requests of a level that meets the threshold. */
const MAX_FAILED_SHARE = 0.01

/** Levels of load to measure. */
export interface LevelPlan {
  readonly range: LevelRange
  readonly search: LevelSearch
  /** The load of a level. */
  readonly loadOf: (level: number) => Load
}

/** Options of the measurement of several levels. */
export interface LevelsOptions extends MeasureOptions {
  /** Called after each level. */
  readonly onLevel: (result: LevelResult) => void
}

/** What was measured under all levels. */
export interface LoadResults {
  readonly levels: readonly LevelResult[]
  /** The highest level that met the latency threshold; undefined if none did, or there is no threshold. */
  readonly best: number | undefined
}

/**
 * Measures one level after the other, as the search asks for them, and reports each. Rejects with the error of
 * the requests when all fail.
 */
export async function measureLevels(
  generator: LoadGenerator,
  { range, search, loadOf }: LevelPlan,
  options: LevelsOptions,
): Promise<LoadResults> {
  await generator.probe(PROBES)
  const levels: LevelResult[] = []
  const judged: JudgedLevel[] = []
  for (;;) {
    const level = nextLevel(range, search, judged)
    if (level === undefined || options.interrupted.aborted) break
    const result = await measureLevel(generator, loadOf(level), options)
    levels.push(result)
    judged.push({ level, isWithin: isWithin(result, options.latencyThresholdMs) })
    options.onLevel(result)
  }
  const hasThreshold = options.latencyThresholdMs !== undefined
  return { levels, best: hasThreshold ? bestLevel(judged) : undefined }
}

/** Whether a level meets the threshold: by its latency, and nearly without failures. */
function isWithin({ judgedMs, measured }: LevelResult, limitMs: number | undefined): boolean {
  if (limitMs === undefined) return true
  return judgedMs <= limitMs && failedIn(measured) <= measured.sent * MAX_FAILED_SHARE
}
