const FEWEST = 256
const MOST = 4096
/** Points for each standard deviation of the narrowest distribution, at least. */
const POINTS_A_DEVIATION = 6

/** Logarithms of the sine and cosine of half an angle, at the middle of each of so many steps from 0 to pi. */
interface Grid {
  readonly logSine: Float64Array
  readonly logCosine: Float64Array
}

const grids = new Map<number, Grid>()

/**
 * Probability, for each arm, that a draw of Beta(1 + a, 1 + b) of it is the largest of all, where `sums` are a and b of
 * each. The integral of one density times the distribution functions of the others is taken in steps of the angle
 * 2 asin(sqrt(x)), in which a Beta distribution of n rewards is about 1 / sqrt(n) wide wherever its mean is.
 */
export function betaWinners(sums: readonly Float32Array[]): Float32Array {
  const most = sums.reduce((n, [a, b]) => Math.max(n, a! + b!), 0)
  const grid = gridFor(Math.PI * POINTS_A_DEVIATION * Math.sqrt(most))
  const densities = sums.map(([a, b]) => density(grid, a! + 1, b! + 1))
  const belows = densities.map(below)
  const wins = densities.map((_, arm) => winShare(densities, belows, arm))
  const total = wins.reduce((a, b) => a + b, 0)
  return Float32Array.from(wins, (win) => win / total)
}

/** Sum over the steps of one arm's mass times the shares of the others below it. */
function winShare(
  densities: readonly Float64Array[],
  belows: readonly Float64Array[],
  arm: number,
): number {
  const mass = densities[arm]!
  let sum = 0
  for (let i = 0; i < mass.length; i++) {
    let product = mass[i]!
    for (let other = 0; other < belows.length; other++) {
      if (other !== arm) product *= belows[other]![i]!
    }
    sum += product
  }
  return sum
}

function gridFor(wanted: number): Grid {
  let points = FEWEST
  while (points < wanted && points < MOST) points *= 2
  let grid = grids.get(points)
  if (grid === undefined) {
    const angles = Float64Array.from(
      { length: points },
      (_, i) => (Math.PI * (i + 0.5)) / points / 2,
    )
    grid = {
      logSine: angles.map((angle) => Math.log(Math.sin(angle))),
      logCosine: angles.map((angle) => Math.log(Math.cos(angle))),
    }
    grids.set(points, grid)
  }
  return grid
}

/** Mass of Beta(a, b) in each step: x^(a - 1/2) (1 - x)^(b - 1/2) by the angle, with x = sin^2, and sum 1. */
function density({ logSine, logCosine }: Grid, a: number, b: number): Float64Array {
  const masses = new Float64Array(logSine.length)
  let largest = -Infinity
  for (let i = 0; i < masses.length; i++) {
    const log = (2 * a - 1) * logSine[i]! + (2 * b - 1) * logCosine[i]!
    masses[i] = log
    if (log > largest) largest = log
  }
  let sum = 0
  for (let i = 0; i < masses.length; i++) {
    const mass = Math.exp(masses[i]! - largest)
    masses[i] = mass
    sum += mass
  }
  for (let i = 0; i < masses.length; i++) masses[i] = masses[i]! / sum
  return masses
}

/** Share below the middle of each step. */
function below(masses: Float64Array): Float64Array {
  const shares = new Float64Array(masses.length)
  let sum = 0
  for (let i = 0; i < masses.length; i++) {
    shares[i] = sum + masses[i]! / 2
    sum += masses[i]!
  }
  return shares
}
