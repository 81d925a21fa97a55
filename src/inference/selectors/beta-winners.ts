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
  const wins = densities.map((density, arm) => {
    let sum = 0
    for (const [i, mass] of density.entries()) {
      let product = mass
      for (let other = 0; other < belows.length && product > 0; other++) {
        if (other !== arm) product *= belows[other]![i]!
      }
      sum += product
    }
    return sum
  })
  const total = wins.reduce((a, b) => a + b, 0)
  return Float32Array.from(wins, (win) => win / total)
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
  const logs = logSine.map((s, i) => (2 * a - 1) * s + (2 * b - 1) * logCosine[i]!)
  const largest = logs.reduce((x, y) => Math.max(x, y), -Infinity)
  const masses = logs.map((log) => Math.exp(log - largest))
  const sum = masses.reduce((x, y) => x + y, 0)
  return masses.map((mass) => mass / sum)
}

/** Share below the middle of each step. */
function below(masses: Float64Array): Float64Array {
  let sum = 0
  return masses.map((mass) => {
    sum += mass
    return sum - mass / 2
  })
}
