/** Growth of a series of measurements by each of them. */
export interface Slope {
  /** By least squares. */
  readonly slope: number
  /** Standard error of the slope, from what the line leaves. */
  readonly standardError: number
  /** Whether the slope is at most two standard errors above 0. */
  readonly isFlat: boolean
}

/** Standard errors within which a slope counts as noise. */
const NOISE = 2

/** The slope over the second half of a series, when what fills at the start is full; undefined below three values. */
export function slopeOfSecondHalf(values: readonly number[]): Slope | undefined {
  const half = values.slice(Math.floor(values.length / 2))
  const n = half.length
  if (n < 3) return undefined
  const meanX = (n - 1) / 2
  const meanY = half.reduce((sum, y) => sum + y, 0) / n
  let xx = 0
  let xy = 0
  half.forEach((y, x) => {
    xx += (x - meanX) ** 2
    xy += (x - meanX) * (y - meanY)
  })
  const slope = xy / xx
  const rest = half.reduce((sum, y, x) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0)
  const standardError = Math.sqrt(rest / (n - 2) / xx)
  return { slope, standardError, isFlat: slope <= NOISE * standardError }
}
