import { requireArgument } from '../../../core/errors.ts'

/** Levels of load (callers, or requests per second) to measure. */
export interface LevelRange {
  readonly start: number
  /** Infinity: until the latency is above the threshold. */
  readonly end: number
  readonly step: number
}

/** A level that was measured, and whether it met the objective. */
export interface JudgedLevel {
  readonly level: number
  readonly isWithin: boolean
}

/** How the levels of a range are searched. */
export type LevelSearch =
  /** From the lowest up, to the end or to the first that is above the threshold. */
  | 'linear'
  /** Halving the range between the highest level that meets the threshold and the lowest that does not. */
  | 'binary'

/** Levels of a single load. */
export const singleLevel = (level: number): LevelRange => ({ start: level, end: level, step: 1 })

/** Throws INVALID_ARGUMENT unless a range can be searched. */
export function requireLevels({ start, end, step }: LevelRange, search: LevelSearch): void {
  requireArgument(
    start > 0 && step > 0 && end >= start,
    `a range is START:END:STEP with 0 < START <= END and STEP > 0, not ${start}:${end}:${step}`,
  )
  requireArgument(
    search === 'linear' || Number.isFinite(end),
    'a binary search needs the end of the range',
  )
}

/** The level to measure after these; undefined when the search is over. */
export function nextLevel(
  range: LevelRange,
  search: LevelSearch,
  judged: readonly JudgedLevel[],
): number | undefined {
  return search === 'linear' ? nextLinear(range, judged) : nextBinary(range, judged)
}

/** The highest measured level that met the objective; undefined if none did. */
export function bestLevel(judged: readonly JudgedLevel[]): number | undefined {
  const within = judged.filter(({ isWithin }) => isWithin).map(({ level }) => level)
  return within.length === 0 ? undefined : Math.max(...within)
}

function nextLinear(
  { start, end, step }: LevelRange,
  judged: readonly JudgedLevel[],
): number | undefined {
  if (judged.at(-1)?.isWithin === false) return undefined
  const next = start + judged.length * step
  return next <= end ? next : undefined
}

/** Levels are whole steps above the start, but for the end. */
function nextBinary(
  { start, end, step }: LevelRange,
  judged: readonly JudgedLevel[],
): number | undefined {
  if (judged.length === 0) return start
  const low = bestLevel(judged)
  if (low === undefined) return undefined
  const above = judged.filter(({ isWithin }) => !isWithin).map(({ level }) => level)
  if (above.length === 0) return low < end ? end : undefined
  const steps = Math.ceil((Math.min(...above) - low) / step)
  return steps <= 1 ? undefined : low + Math.floor(steps / 2) * step
}
